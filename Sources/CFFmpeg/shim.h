// libavformat, libavcodec, libavutil and libswscale (Debian 12: FFmpeg 5.1). Static inlines only for what Swift cannot
// import: macros and variadic functions.
#pragma once

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>

static const int burnish_averror_eof = AVERROR_EOF;
static const int burnish_averror_again = AVERROR(EAGAIN);
static const int burnish_averror_invaliddata = AVERROR_INVALIDDATA;
static const int64_t burnish_nopts = AV_NOPTS_VALUE;
