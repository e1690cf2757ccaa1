// All that differs between the versions of FFmpeg, from 5.1 on. The Swift code calls these and names no version.
#pragma once

#include <libavcodec/avcodec.h>
#include <libavutil/frame.h>
#include <libswscale/swscale.h>
#include <stdbool.h>
#include <stdint.h>

// The caller's number of a picture, which comes out with it. 6.0 has `opaque` of packets and frames for it, 7.0 removed
// `reordered_opaque`. libavcodec copies either without an allocation.
#if LIBAVCODEC_VERSION_MAJOR >= 60
_Static_assert(sizeof(void *) >= sizeof(int64_t), "a pointer has to hold a picture's number");

// Makes a codec hand numbers through. To be called before it is opened.
static inline void burnish_carry_numbers(AVCodecContext *context) { context->flags |= AV_CODEC_FLAG_COPY_OPAQUE; }

// Numbers the unit that goes into a decoder next.
static inline void burnish_number_unit(AVCodecContext *context, AVPacket *unit, int64_t number) {
    (void)context;
    unit->opaque = (void *)(intptr_t)number;
}

// Numbers a picture that goes into an encoder.
static inline void burnish_number_picture(AVFrame *picture, int64_t number) {
    picture->opaque = (void *)(intptr_t)number;
}

// The number of a picture that came out of a decoder.
static inline int64_t burnish_picture_number(const AVFrame *picture) { return (intptr_t)picture->opaque; }

// The number of the unit that came out of an encoder last.
static inline int64_t burnish_unit_number(const AVCodecContext *context, const AVPacket *unit) {
    (void)context;
    return (intptr_t)unit->opaque;
}
#else
static inline void burnish_carry_numbers(AVCodecContext *context) { (void)context; }

static inline void burnish_number_unit(AVCodecContext *context, AVPacket *unit, int64_t number) {
    (void)unit;
    context->reordered_opaque = number;
}

static inline void burnish_number_picture(AVFrame *picture, int64_t number) { picture->reordered_opaque = number; }

static inline int64_t burnish_picture_number(const AVFrame *picture) { return picture->reordered_opaque; }

static inline int64_t burnish_unit_number(const AVCodecContext *context, const AVPacket *unit) {
    (void)unit;
    return context->reordered_opaque;
}
#endif

// What a decoder says of a picture: since 6.1 in flags.
#ifdef AV_FRAME_FLAG_KEY
static inline bool burnish_is_keyframe(const AVFrame *picture) { return picture->flags & AV_FRAME_FLAG_KEY; }
static inline bool burnish_is_interlaced(const AVFrame *picture) { return picture->flags & AV_FRAME_FLAG_INTERLACED; }
static inline bool burnish_is_top_field_first(const AVFrame *picture) {
    return picture->flags & AV_FRAME_FLAG_TOP_FIELD_FIRST;
}
#else
static inline bool burnish_is_keyframe(const AVFrame *picture) { return picture->key_frame; }
static inline bool burnish_is_interlaced(const AVFrame *picture) { return picture->interlaced_frame; }
static inline bool burnish_is_top_field_first(const AVFrame *picture) { return picture->top_field_first; }
#endif
static inline bool burnish_is_corrupt(const AVFrame *picture) { return picture->flags & AV_FRAME_FLAG_CORRUPT; }

// The sample format that a sound encoder lists first; AV_SAMPLE_FMT_NONE where it lists none.
static inline enum AVSampleFormat burnish_first_sample_format(const AVCodecContext *context) {
    const enum AVSampleFormat *formats = NULL;
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
    const void *supported = NULL;
    if (avcodec_get_supported_config(context, NULL, AV_CODEC_CONFIG_SAMPLE_FORMAT, 0, &supported, NULL) >= 0)
        formats = (const enum AVSampleFormat *)supported;
#else
    formats = context->codec->sample_fmts;
#endif
    return formats ? formats[0] : AV_SAMPLE_FMT_NONE;
}

// Until 8.0 Swift saw an opaque `SwsContext`, and flags and codecs as plain numbers. Never defined: it is a `SwsContext`.
struct burnish_scaler;

// A scaler for these pictures: `scaler` itself where it fits, or another, which takes its place; NULL where a format is not
// supported.
static inline struct burnish_scaler *burnish_scaler_for(struct burnish_scaler *scaler, int width, int height,
                                                        enum AVPixelFormat format, int to_width, int to_height,
                                                        enum AVPixelFormat to_format, int flags) {
    return (struct burnish_scaler *)sws_getCachedContext((struct SwsContext *)scaler, width, height, format, to_width,
                                                         to_height, to_format, flags, NULL, NULL, NULL);
}

static inline void burnish_scaler_free(struct burnish_scaler *scaler) { sws_freeContext((struct SwsContext *)scaler); }

// How the samples on both sides are to be read: `sws_getCoefficients`, and 1 for full range.
static inline int burnish_scaler_set_colors(struct burnish_scaler *scaler, const int matrix[4], int is_full,
                                            const int to_matrix[4], int to_is_full) {
    return sws_setColorspaceDetails((struct SwsContext *)scaler, matrix, is_full, to_matrix, to_is_full, 0, 1 << 16,
                                    1 << 16);
}

static inline int burnish_scale(struct burnish_scaler *scaler, const uint8_t *const planes[], const int lines[],
                                int height, uint8_t *const to_planes[], const int to_lines[]) {
    return sws_scale((struct SwsContext *)scaler, planes, lines, 0, height, to_planes, to_lines);
}

static const int burnish_sws_flags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP;
static const int burnish_sws_flags_full_chroma = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP |
                                                 SWS_FULL_CHR_H_INT;

static inline AVCodecParserContext *burnish_parser(enum AVCodecID codec) { return av_parser_init(codec); }
