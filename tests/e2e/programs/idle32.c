/* SPDX-License-Identifier: Apache-2.0 */
/* The same for 32 bits, without headers and start files, which are not installed: linked with the libc alone. */
int puts(const char *text);
int fflush(void *stream);
void exit(int status);
unsigned sleep(unsigned seconds);

void start(void);

void start(void)
{
    __asm__ volatile("and $-16, %esp"); /* as a call leaves it */
    puts("ready");
    fflush(0);
#ifdef IDLE_SECONDS
    sleep(IDLE_SECONDS);
#endif
    exit(3);
}
