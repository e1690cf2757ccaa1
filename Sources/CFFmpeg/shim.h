// libavformat, libavcodec, libavutil, libswresample and libswscale (Debian 12: FFmpeg 5.1, Debian 13: 7.1). Static inlines only for
// what Swift cannot import, and for what differs between the versions (versions.h).
#pragma once

#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/crc.h>
#include <libavutil/display.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/mastering_display_metadata.h>
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

// The nine numbers by which a container says how a stream's pictures are to be turned; NULL where it says nothing.
static inline const int32_t *burnish_display_matrix(const AVStream *stream) {
#if LIBAVCODEC_VERSION_MAJOR >= 61
    const AVPacketSideData *side = av_packet_side_data_get(
        stream->codecpar->coded_side_data, stream->codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
    return side && side->size >= 9 * sizeof(int32_t) ? (const int32_t *)side->data : NULL;
#else
    size_t size = 0;
    const uint8_t *data = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
    return size >= 9 * sizeof(int32_t) ? (const int32_t *)data : NULL;
#endif
}
