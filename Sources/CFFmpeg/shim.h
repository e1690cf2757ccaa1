// libavformat, libavcodec, libavutil, libswresample and libswscale (Debian 12: FFmpeg 5.1, Debian 13: 7.1). Static inlines only for
// what Swift cannot import, and for what differs between the versions (versions.h).
#pragma once

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/display.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libavutil/video_enc_params.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

#include "versions.h"

static const int burnish_averror_eof = AVERROR_EOF;
static const int burnish_averror_again = AVERROR(EAGAIN);
static const int burnish_averror_invaliddata = AVERROR_INVALIDDATA;
static const int64_t burnish_nopts = AV_NOPTS_VALUE;
static const int burnish_averror_enomem = AVERROR(ENOMEM);
static const int burnish_averror_decoder_not_found = AVERROR_DECODER_NOT_FOUND;

// A frame's plane pointers as the arrays that C functions want.
static inline uint8_t **burnish_frame_data(AVFrame *frame) { return frame->data; }
static inline const uint8_t *const *burnish_const_planes(const AVFrame *frame) {
    return (const uint8_t *const *)frame->data;
}
static inline const int *burnish_linesizes(const AVFrame *frame) { return frame->linesize; }

// A frame's samples, one pointer for each channel or one for all.
static inline const uint8_t **burnish_frame_samples(const AVFrame *frame) {
    return (const uint8_t **)frame->extended_data;
}
