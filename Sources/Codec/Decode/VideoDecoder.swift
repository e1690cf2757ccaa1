import Bitstream
import CFFmpeg
import Media

/// Decodes access units with no delay beyond what the stream's own reordering asks for.
///
/// It uses slice threads only, because frame threads would hold back one picture each. How many pictures libavcodec
/// holds back follows the reordering information in the stream: none for a stream without B-frames that says so or has
/// no VUI at all. Of an H.264 stream with B-frames that does not say so, time stamps tell (``UnitFlags/reordering(_:)``); without
/// them it loses its first few B-frames and is right after that. MPEG-1 and MPEG-2 pictures are put in order here (``DisplayOrder``), because libavcodec holds one back always.
///
/// Damage is no error. It is concealed and flagged on the pictures (``PictureDamage``) until the next clean start, and
/// units that give no picture are reported as such (``CodecFault``). Pictures that are not 8-bit 4:2:0 are converted.
///
/// Confined to one thread at a time. Does not allocate per picture outside libav.
///
///     try decoder.decode(bytes, id: 7)
///     while let output = try decoder.next() { … }
@safe public final class VideoDecoder {
    public struct Configuration: Hashable, Sendable {
        public var codec = VideoCodec.h264
        /// Threads for the slices of one picture. More than one is of use only where pictures have several slices.
        public var threads = 1
        /// Exports the mean quantiser of each picture (``DecodedPicture/meanQuantiser``).
        public var exportsQuantisers = false
        /// Pictures with more luma samples than this are refused, because hostile headers ask for gigabytes.
        public var maximumSamples = 4096 * 2304
        /// The brightest light of PQ pictures in cd/m²; nil: as they say.
        public var hdrPeak: Double?
        /// Pictures of the full range get the limited one, and a picture may be shown by the peak of the one before while a table for
        /// its own is made.
        public var isLive = false

        public init() {}
    }

    /// Skips pictures that no other refers to, which is the cheapest way to decode less. May be switched at any time.
    public var skipsNonReference = false

    /// Exports the mean quantiser of each picture. May be switched at any time: libavcodec reads the field for each picture
    /// that comes out.
    public var exportsQuantisers: Bool {
        get { wantsQuantisers }
        set {
            wantsQuantisers = newValue
            guard codec.hasExportedQuantisers else { return }
            let flag = AV_CODEC_EXPORT_DATA_VIDEO_ENC_PARAMS
            let others = unsafe context!.pointee.export_side_data & ~flag
            unsafe context!.pointee.export_side_data = newValue ? others | flag : others
        }
    }

    /// The brightest light of PQ pictures in cd/m²; nil: as they say. May be changed at any time.
    public var hdrPeak: Double? {
        get { screen.peak }
        set { screen.peak = newValue }
    }

    private let codec: VideoCodec
    private let place: String
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var packet: UnsafeMutablePointer<AVPacket>?
    /// An empty frame for the next picture to come out into.
    private var spare: OwnedFrame
    private var input = PaddedInput()
    private(set) var ledger = UnitLedger()
    private var reader: any AccessUnitReader
    private var order = DisplayOrder()
    /// An AV1 unit in the form that the library takes.
    private var withoutStartCodes: [UInt8] = []
    private var guess = QuantiserGuess()
    /// Whether quantisers are wanted; libavcodec exports those of some formats only.
    private var wantsQuantisers = false
    /// The library's decoder brings its own memory, which lacks the bytes around the planes.
    private let needsCopy: Bool
    private var isDraining = false
    /// The unit in `packet` goes in when the decoder is empty.
    private var waitingUnit: Int64?
    private let pool = FramePool()
    private let buffers = PictureBuffers()
    private let conversion = PictureConversion()
    private let screen: ScreenColors

    public init(_ configuration: Configuration = Configuration()) throws(CodecError) {
        LibraryLog.capture()
        codec = configuration.codec
        screen = ScreenColors(isLive: configuration.isLive)
        place = "\(codec.name) decoder"
        reader = codec.makeUnitReader()
        spare = try pool.emptyFrame()
        guard let library = unsafe codec.libraryDecoder else {
            throw CodecError(
                .unsupportedCodec, operation: "avcodec_find_decoder", message: "libavcodec has no \(codec.name) decoder",
                place: place, advice: "install a complete libavcodec")
        }
        needsCopy = unsafe library.pointee.capabilities & AV_CODEC_CAP_DR1 == 0
        unsafe context = try check(avcodec_alloc_context3(library), "avcodec_alloc_context3", at: place)
        unsafe packet = try check(av_packet_alloc(), "av_packet_alloc", at: place)
        let context = unsafe self.context!
        unsafe context.pointee.thread_type = FF_THREAD_SLICE
        unsafe context.pointee.thread_count = Int32(max(1, configuration.threads))
        unsafe context.pointee.flags |= AV_CODEC_FLAG_LOW_DELAY
        // Else a picture that is cropped at its left keeps some of what was cropped.
        unsafe context.pointee.flags |= AV_CODEC_FLAG_UNALIGNED
        unsafe context.pointee.max_pixels = Int64(configuration.maximumSamples)
        unsafe burnish_carry_numbers(context)
        exportsQuantisers = configuration.exportsQuantisers
        screen.peak = configuration.hdrPeak
        unsafe buffers.attach(to: context)
        unsafe try check(
            avcodec_open2(context, library, nil), "avcodec_open2", at: place, advice: "lower the number of threads")
    }

    deinit {
        unsafe av_packet_free(&packet)
        unsafe avcodec_free_context(&context)
    }

    /// Decodes the coded bytes of one picture (with start codes in the formats that have them). Call ``next()`` until it returns nil before the next call.
    /// - Parameters:
    ///   - unit: borrowed for the call; copied once into a padded buffer.
    ///   - id: comes out again, once, with the picture or with the fault.
    /// - Returns: false where ``skipsNonReference`` made it skip the unit, or nothing that it refers to was decoded.
    /// - Throws: only what makes the decoder useless (no memory); bad data is an output.
    @discardableResult
    public func decode(_ unit: UnsafeRawBufferPointer, id: Int64, flags: UnitFlags = []) throws(CodecError) -> Bool {
        guard codec == .av1, unsafe AV1StartCodes.isUsed(in: unit) else {
            return try unsafe decodePlain(unit, id: id, flags: flags)
        }
        var plain: [UInt8] = []
        swap(&plain, &withoutStartCodes)
        defer { swap(&plain, &withoutStartCodes) }
        unsafe AV1StartCodes.remove(from: unit, into: &plain)
        let result = unsafe plain.withUnsafeBytes { bytes in
            Result { () throws(CodecError) in try unsafe decodePlain(bytes, id: id, flags: flags) }
        }
        return try result.get()
    }

    private func decodePlain(_ unit: UnsafeRawBufferPointer, id: Int64, flags: UnitFlags) throws(CodecError) -> Bool {
        if isDraining { reopen() }
        let summary = unsafe reader.read(unit)
        if summary.isCleanStart, let stated = reader.color { screen.expect(stated) }
        if summary.precedesEntryPoint {
            ledger.skipped(id: id, .awaitingKeyframe)
            // Else the picture behind it in the order of display would wait for it.
            if codec == .mpeg2Video, !summary.isReference { order.skipped(summary) }
            return false
        }
        if skipsNonReference, summary.hasSlice, !summary.isReference {
            ledger.skipped(id: id)
            if codec == .mpeg2Video { order.skipped(summary) }
            return false
        }
        let number = ledger.sent(id: id, summary, flags)
        if codec == .mpeg2Video { order.sent(number, summary, isLowDelay: reader.reordering == 0) }
        if wantsQuantisers { guess.record(bytes: unit.count) }
        unsafe try input.fill(packet!, with: unit, at: place)
        // libavcodec finds out by losing pictures, where nobody tells it.
        if codec == .h264, reader.reordering == nil, unsafe flags.reordering > Int(context!.pointee.has_b_frames) {
            unsafe context!.pointee.has_b_frames = Int32(flags.reordering)
        }
        // libavcodec never lowers the number of pictures that it holds back. Where a sender has restarted with less
        // reordering, what is inside has to come out first, or every later picture would be late.
        if codec == .h264, summary.isRefresh, let reordering = reader.reordering,
            unsafe reordering < Int(context!.pointee.has_b_frames)
        {
            waitingUnit = number
            unsafe avcodec_send_packet(context, nil)
        } else {
            try send(number)
        }
        return true
    }

    /// Sends the unit in `packet`.
    private func send(_ number: Int64) throws(CodecError) {
        unsafe burnish_number_unit(context, packet, number)
        let code = unsafe avcodec_send_packet(context, packet)
        unsafe av_packet_unref(packet)
        try recordFailure(code, of: number, "avcodec_send_packet")
    }

    /// The next picture or fault; nil when the decoder needs another unit, or, after ``drain()``, when it is empty.
    public func next() throws(CodecError) -> DecoderOutput? {
        var failures = 0
        while true {
            if let picture = order.next() { return .picture(picture) }
            let code = unsafe avcodec_receive_frame(context, spare.pointer)
            if code == 0 {
                let number = unsafe burnish_picture_number(spare.pointer)
                guard let picture = try makePicture() else { continue }
                if codec != .mpeg2Video { return .picture(picture) }
                order.cameOut(number, picture)
                continue
            }
            if code != burnish_averror_again && code != burnish_averror_eof {
                // Bad data. But if the answer stays the same, the library is broken.
                failures += 1
                if failures > 32 { try check(code, "avcodec_receive_frame", at: place) }
                try recordFailure(code, of: -1, "avcodec_receive_frame")
                continue
            }
            if let number = waitingUnit {
                waitingUnit = nil
                unsafe avcodec_flush_buffers(context)
                unsafe context!.pointee.has_b_frames = 0
                try send(number)
                continue
            }
            let holdsNothing = unsafe context!.pointee.has_b_frames == 0
            if code == burnish_averror_eof, let last = order.last() { return .picture(last) }
            ledger.settled(holdsNothing: holdsNothing, isEnd: code == burnish_averror_eof)
            return ledger.popLost().map { .noPicture(id: $0.id, $0.fault) }
        }
    }

    /// Makes the decoder release what it holds back, because no more units come for now. Call ``next()`` for the
    /// outputs. Decoding can go on after that, from a keyframe.
    public func drain() {
        guard !isDraining else { return }
        isDraining = true
        unsafe avcodec_send_packet(context, nil)
    }

    private func reopen() {
        waitingUnit = nil
        unsafe av_packet_unref(packet)
        unsafe avcodec_flush_buffers(context)
        isDraining = false
        reader.reset()
        order.reset()
    }

    private func recordFailure(_ code: Int32, of number: Int64, _ operation: StaticString) throws(CodecError) {
        if code >= 0 { return }
        if code == burnish_averror_enomem || code == burnish_averror_again {
            try check(code, operation, at: place, advice: "call next() until it returns nil before the next unit")
        }
        ledger.failed(number)
    }

    /// Makes a picture of the frame in `spare`; nil when its unit was reported lost before.
    private func makePicture() throws(CodecError) -> DecodedPicture? {
        let fields = unsafe spare.pointer
        let errors = unsafe fields.pointee.decode_error_flags
        let outcome = unsafe ledger.cameOut(
            burnish_picture_number(fields), isKeyframe: burnish_is_keyframe(fields),
            isInterlaced: codec == .h264 && burnish_is_interlaced(fields),
            wasConcealed: errors & ~FF_DECODE_ERROR_MISSING_REFERENCE != 0,
            lacksReference: errors & FF_DECODE_ERROR_MISSING_REFERENCE != 0)
        guard let (id, isReference, known, stated) = outcome else {
            unsafe av_frame_unref(fields)
            return nil
        }
        var frame = try pool.emptyFrame()
        swap(&frame, &spare)
        var damage = known
        if unsafe burnish_is_corrupt(fields) { damage.insert(.corrupt) }
        let quantiser = wantsQuantisers ? unsafe stated ?? meanQuantiser(of: fields) ?? guess.value(of: fields, codec) : nil
        let original = unsafe PictureConversion.source(of: fields)
        let before = try screen.shown(&frame, by: conversion, pool, needsCopy: needsCopy || original != nil, at: place)
        return DecodedPicture(
            frame, from: pool, id: id, isReference: isReference, damage: damage, quantiser: quantiser,
            convertedFrom: original, colorBefore: before)
    }
}
