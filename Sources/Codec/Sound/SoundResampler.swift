import CFFmpeg

/// Turns decoded sound of any rate and number of channels into 48 kHz stereo, in a row of samples.
///
/// Confined to one thread at a time.
@safe final class SoundResampler {
    private struct Input: Equatable {
        var rate, format, channels: Int32
        var layout: UInt64
    }

    static let channels = 2
    private static let place = "resampling"
    private var context: OpaquePointer?
    private var input: Input?
    /// Interleaved. It grows to what the largest frame needs and stays.
    private(set) var samples = UnsafeMutableBufferPointer<Float>.allocate(capacity: 16 * 1024)
    /// How many of each channel there are.
    private(set) var count = 0

    deinit {
        unsafe swr_free(&context)
        unsafe samples.deallocate()
    }

    /// How many samples have gone in and not come out yet.
    var held: Int {
        guard let context = unsafe context else { return 0 }
        return unsafe Int(swr_get_delay(context, Int64(SoundLine.rate)))
    }

    /// Whether a frame differs from those before.
    func isOther(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool { unsafe input != Self.input(of: frame) }

    private static func input(of frame: UnsafeMutablePointer<AVFrame>) -> Input {
        let layout = unsafe frame.pointee.ch_layout
        return unsafe Input(
            rate: frame.pointee.sample_rate, format: frame.pointee.format, channels: layout.nb_channels,
            layout: layout.order == AV_CHANNEL_ORDER_NATIVE ? layout.u.mask : 0)
    }

    /// Prepares for frames like this one. What is held comes out before (``flush()``).
    func begin(_ frame: UnsafeMutablePointer<AVFrame>) throws(CodecError) {
        unsafe swr_free(&context)
        input = nil
        var stereo = unsafe AVChannelLayout()
        unsafe av_channel_layout_default(&stereo, Int32(Self.channels))
        unsafe try check(
            swr_alloc_set_opts2(
                &context, &stereo, AV_SAMPLE_FMT_FLT, Int32(SoundLine.rate), &frame.pointee.ch_layout,
                AVSampleFormat(rawValue: frame.pointee.format), frame.pointee.sample_rate, 0, nil),
            "swr_alloc_set_opts2", at: Self.place, .unsupportedFormat)
        // Also where the rate is the same, so that corrections begin without a break.
        unsafe av_opt_set_int(UnsafeMutableRawPointer(context!), "flags", Int64(SWR_FLAG_RESAMPLE), 0)
        unsafe try check(swr_init(context), "swr_init", at: Self.place, .unsupportedFormat)
        input = unsafe Self.input(of: frame)
    }

    /// Adds the samples of a frame.
    /// - Parameter correction: so many samples are to be added, or left out, in what follows.
    func add(_ frame: UnsafeMutablePointer<AVFrame>, correction: Int) throws(CodecError) {
        if correction != 0 {
            unsafe try check(
                swr_set_compensation(context, Int32(correction), Int32(SoundLine.correctionLength)), "swr_set_compensation",
                at: Self.place)
        }
        unsafe try convert(burnish_frame_samples(frame), frame.pointee.nb_samples)
    }

    /// Adds what is held. ``begin(_:)`` has to follow.
    func flush() throws(CodecError) {
        guard unsafe context != nil else { return }
        unsafe try convert(nil, 0)
        unsafe swr_free(&context)
        input = nil
    }

    /// Adds silence.
    func addSilence(_ silent: Int) {
        makeRoom(for: silent)
        let begin = count * Self.channels
        unsafe samples[begin..<begin + silent * Self.channels].update(repeating: 0)
        count += silent
    }

    /// Removes the first samples.
    func remove(_ number: Int) {
        count -= number
        unsafe samples.baseAddress!.update(
            from: samples.baseAddress! + number * Self.channels, count: count * Self.channels)
    }

    private func convert(
        _ data: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ number: Int32
    ) throws(CodecError) {
        let most = unsafe Int(try check(swr_get_out_samples(context, number), "swr_get_out_samples", at: Self.place))
        makeRoom(for: most)
        let place = unsafe samples.baseAddress! + count * Self.channels
        var out: UnsafeMutablePointer<UInt8>? = unsafe UnsafeMutableRawPointer(place).assumingMemoryBound(to: UInt8.self)
        let made = unsafe try check(
            swr_convert(context, &out, Int32(most), data, number), "swr_convert", at: Self.place)
        count += Int(made)
    }

    private func makeRoom(for more: Int) {
        let needed = (count + more) * Self.channels
        guard unsafe needed > samples.count else { return }
        let larger = UnsafeMutableBufferPointer<Float>.allocate(capacity: 2 * needed)
        unsafe larger.baseAddress!.update(from: samples.baseAddress!, count: count * Self.channels)
        unsafe samples.deallocate()
        unsafe samples = larger
    }
}
