#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of ONNX Runtime does: a model of products, activations and a softmax, run again and again on the CUDA
provider, once with values that stay on the device."""

import pathlib

import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

SIZE, HIDDEN = 64, 128


def model():
    given = numpy.random.default_rng(0)
    weights = [numpy_helper.from_array(given.standard_normal(shape).astype(numpy.float32), name)
               for name, shape in (('first', (SIZE, HIDDEN)), ('second', (HIDDEN, SIZE)), ('scale', (SIZE,)), ('bias', (SIZE,)))]
    nodes = [helper.make_node('MatMul', ['words', 'first'], ['wide']),
             helper.make_node('Sigmoid', ['wide'], ['gate']),
             helper.make_node('Mul', ['wide', 'gate'], ['active']),
             helper.make_node('MatMul', ['active', 'second'], ['narrow']),
             helper.make_node('Add', ['words', 'narrow'], ['sum']),
             helper.make_node('LayerNormalization', ['sum', 'scale', 'bias'], ['normal']),
             helper.make_node('Softmax', ['normal'], ['scores'])]
    graph = helper.make_graph(nodes, 'block', [helper.make_tensor_value_info('words', TensorProto.FLOAT, [8, SIZE])],
                              [helper.make_tensor_value_info('scores', TensorProto.FLOAT, [8, SIZE])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=9).SerializeToString()


def main():
    session = onnxruntime.InferenceSession(model(), providers=['CUDAExecutionProvider'])
    print(onnxruntime.__version__, session.get_providers()[0])
    words = numpy.ones((8, SIZE), numpy.float32)
    for _ in range(3):
        scores, = session.run(None, {'words': words})
    print('scores', scores.shape)

    binding = session.io_binding()
    binding.bind_ortvalue_input('words', onnxruntime.OrtValue.ortvalue_from_numpy(words, 'cuda', 0))
    binding.bind_output('scores', 'cuda')
    for _ in range(3):
        session.run_with_iobinding(binding)
    result = binding.get_outputs()[0]
    print('on', result.device_name())
    pathlib.Path('scores.bin').write_bytes(result.numpy().tobytes())


main()
