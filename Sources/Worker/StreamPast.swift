import Media
import Relay
import WorkerProtocol

extension AssignedStream {
    /// Writes a still of the past into a file.
    /// - Parameters:
    ///   - units: where what makes the picture anew goes; nil where nobody wants that.
    ///   - answer: called once, on any thread, with the number of bytes and of the frame.
    func showPast(
        _ side: PictureSide, _ place: StillPlace, _ format: StillFormat, width: Int,
        in descriptor: PassedDescriptor, units: PassedDescriptor?,
        answer: @escaping @Sendable (Result<(byteCount: Int, frame: UInt64), PastRefusal>) -> Void
    ) {
        guard let relay else { return answer(.failure(PastRefusal(.busy, "the stream does not run"))) }
        let meant: PastPlace =
            switch place {
            case .time(let time): .time(MonotonicTime(nanoseconds: time))
            case .frame(let frame): .frame(frame)
            case .rtp(let stamp): .rtp(stamp)
            case .best(let time): .best(since: MonotonicTime(nanoseconds: time))
            }
        var keep: (@Sendable ([UInt8]) -> String?)?
        if let units { keep = { units.write($0) } }
        relay.requestPast(
            side == .before ? .before : .after, meant, as: format == .jpeg ? .jpeg : .png, width: width,
            keep: keep
        ) { result in
            switch result {
            case .failure(let fault): answer(.failure(PastRefusal(fault)))
            case .success(let picture):
                if let fault = descriptor.write(picture.bytes) {
                    answer(.failure(PastRefusal(.conflict, "\(fault): ask for a smaller width")))
                } else {
                    answer(.success((picture.bytes.count, picture.frame)))
                }
            }
        }
    }
}

extension AssignedStream {
    /// Cuts a clip into a file, and tells of it.
    func cutClip(
        _ id: UInt64, from: Int64, to: Int64, _ format: ClipFormat, ofInput: Bool, into descriptor: PassedDescriptor,
        _ control: WorkerChannel
    ) {
        guard let relay else {
            control.send(.refusedPast(id: id, PastRefusal(.busy, "the stream does not run")))
            return
        }
        // It has begun unless it was refused at once, on this thread.
        let isRefused = Lock(false)
        let late = unsafe relay.cutClip(
            from: MonotonicTime(nanoseconds: from), to: MonotonicTime(nanoseconds: to), as: format == .ts ? .ts : .mp4,
            ofInput: ofInput,
            write: { unsafe descriptor.write($0, at: $1) }
        ) { [name] result in
            switch result {
            case .failure(let fault):
                isRefused.withLock { $0 = true }
                control.send(.refusedPast(id: id, PastRefusal(fault)))
            case .success(let clip):
                if clip.refused > 0 {
                    let text = "a clip lacks \(clip.refused) units that MP4 does not hold: ask for ts"
                    control.send(.event(stream: name, StreamEvent(.message, text)))
                }
                control.send(
                    .clip(id: id, byteCount: clip.bytes, pictures: clip.pictures, seconds: clip.length.seconds))
            }
        }
        if !isRefused.withLock({ $0 }) { control.send(.clipBegun(id: id, late: late.seconds)) }
    }
}

extension PastRefusal {
    init(_ fault: PastFault) {
        let kind: Kind =
            switch fault.kind {
            case .missing: .missing
            case .conflict: .conflict
            case .busy: .busy
            }
        self.init(kind, fault.description)
    }
}
