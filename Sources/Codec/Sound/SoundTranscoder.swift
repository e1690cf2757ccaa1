import CFFmpeg
import Media

/// Makes packets of Opus, 10 ms of stereo each, from another format of sound.
///
/// Packets follow each other exactly, however coarse the source's time stamps are. A gap of the source stays a gap, and so does
/// what could not be decoded. Times are those of what is heard: the encoder's own delay is taken out.
///
/// Confined to one thread at a time. Does not allocate in the steady state outside libav.
@safe public final class SoundTranscoder {
    /// What became of a unit.
    public enum Outcome: Sendable {
        case transcoded
        /// Some of it could not be decoded.
        case broken
        /// Some of it has no time, or one that was filled already.
        case late
    }

    private let decoder: SoundDecoder
    private let encoder: OpusEncoder
    private let resampler = SoundResampler()
    private var line = SoundLine()
    /// What comes next has no known time of its own: something before it is missing.
    private var needsTime = false
    /// Gaps of the source.
    public private(set) var gaps = 0

    /// - Throws: ``CodecError`` where libavcodec has no such decoder, or no libopus.
    public init(_ codec: SoundCodec) throws(CodecError) {
        decoder = try SoundDecoder(codec)
        encoder = try OpusEncoder()
    }

    /// Transcodes a unit.
    /// - Parameters:
    ///   - presentation: of the first frame that begins in it.
    ///   - emit: gets each packet with the time of its first sample, borrowed for the call.
    /// - Throws: when the encoder fails, or what was decoded cannot be converted.
    public func push(
        _ unit: UnsafeRawBufferPointer, at presentation: MediaTime?,
        emit: (_ packet: UnsafeRawBufferPointer, _ time: MediaTime) -> Void
    ) throws(CodecError) -> Outcome {
        var isLate = false
        let isWhole = unsafe try decoder.decode(unit, at: presentation?.ticks) { (frame, time) throws(CodecError) in
            if unsafe try !add(frame, at: time.map { MediaTime(ticks: $0) }, emit) { isLate = true }
        }
        if !isWhole { needsTime = true }
        return !isWhole ? .broken : isLate ? .late : .transcoded
    }

    /// All times of what is held were wrong by so many ticks.
    public func move(by ticks: Int64) { line.move(by: ticks) }

    /// Emits what is held, filled up with silence. What follows begins anew.
    public func endLine(emit: (_ packet: UnsafeRawBufferPointer, _ time: MediaTime) -> Void) throws(CodecError) {
        try flush()
        let rest = resampler.count % OpusEncoder.packetSamples
        if rest > 0 { addSilence(OpusEncoder.packetSamples - rest) }
        unsafe try encode(emit)
        line.end()
    }

    /// - Returns: whether the frame has a place.
    private func add(
        _ frame: UnsafeMutablePointer<AVFrame>, at time: MediaTime?, _ emit: (UnsafeRawBufferPointer, MediaTime) -> Void
    ) throws(CodecError) -> Bool {
        guard time != nil || !needsTime else { return false }
        let place = line.place(time, held: resampler.held)
        if place == .untimed || place == .overlaps { return false }
        needsTime = false
        var correction = 0
        switch place {
        case .begins: line.begin(at: time!)
        case .gap(let samples): unsafe try leave(samples, before: time!, emit)
        case .follows(let samples): correction = samples
        case .overlaps, .untimed: break
        }
        if unsafe resampler.isOther(frame) {
            try flush()
            unsafe try resampler.begin(frame)
        }
        let before = resampler.count
        unsafe try resampler.add(frame, correction: correction)
        line.add(resampler.count - before)
        unsafe try encode(emit)
        return true
    }

    /// Leaves a gap: the packet in hand is filled up, and the next one begins behind the gap.
    private func leave(
        _ gap: Int, before time: MediaTime, _ emit: (UnsafeRawBufferPointer, MediaTime) -> Void
    ) throws(CodecError) {
        gaps += 1
        let held = resampler.held
        let before = resampler.count
        try flush()
        let rest = resampler.count % OpusEncoder.packetSamples
        let room = rest > 0 ? OpusEncoder.packetSamples - rest : 0
        // What came out late of the resampler is no gap.
        let missing = gap + held - (resampler.count - before)
        guard missing > room else { return addSilence(max(0, missing)) }
        addSilence(room)
        unsafe try encode(emit)
        line.begin(at: time)
    }

    private func flush() throws(CodecError) {
        let before = resampler.count
        try resampler.flush()
        line.add(resampler.count - before)
    }

    private func addSilence(_ samples: Int) {
        resampler.addSilence(samples)
        line.add(samples)
    }

    private func encode(_ emit: (UnsafeRawBufferPointer, MediaTime) -> Void) throws(CodecError) {
        var used = 0
        let first = line.count - Int64(resampler.count)
        while resampler.count - used >= OpusEncoder.packetSamples {
            let time = line.time(of: first + Int64(used - encoder.delay))
            unsafe try encoder.encode(resampler.samples.baseAddress! + used * SoundResampler.channels) { packet in
                unsafe emit(packet, time)
            }
            used += OpusEncoder.packetSamples
        }
        if used > 0 { resampler.remove(used) }
    }
}
