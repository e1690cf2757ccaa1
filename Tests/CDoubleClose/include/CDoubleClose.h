#ifndef CDOUBLECLOSE_H
#define CDOUBLECLOSE_H

// Test programs are linked with a close() of their own: see close.c.

#endif
