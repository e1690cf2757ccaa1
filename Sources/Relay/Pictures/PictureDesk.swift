import Codec
import Media

/// Answers requests for pictures of a stream, on a thread of low priority that the first request starts: scales them down and
/// encodes them as JPEG.
///
/// Both sides of a frame are encoded together. A request for the other side that comes soon after the first gets the picture of
/// the same frame. A picture that was made before a mask was set is not shown.
///
/// Thread-safe. At most one request for each side is on its way.
final class PictureDesk: Sendable {
    typealias Answer = @Sendable (Result<StreamPicture, PictureFault>) -> Void

    private struct Request: Sendable {
        let side: StreamPicture.Side
        let width: Int
        let deadline: MonotonicTime
        let answer: Answer
    }

    private struct State {
        var thread: StageThread?
        var isClosed = false
        /// The sides for which a request is on its way.
        var asked: Set<StreamPicture.Side> = []
    }

    /// The other side of the last frame that was shown, with the time at which that frame was handed over.
    private struct Kept {
        let side: StreamPicture.Side
        let width: Int
        let time: MonotonicTime
        let maskNumber: Int
        let result: Result<StreamPicture, PictureFault>
    }

    private let pictures: PictureRequests
    private let settings: LiveSettings
    private let requests = BoundedQueue<Request>(capacity: StreamPicture.Side.allCases.count)
    private let state = Lock(State())
    /// How long a request waits for a frame.
    private let timeout: Nanoseconds
    /// How long the other side of a frame is kept for its request.
    private let pairTimeout: Nanoseconds

    init(_ pictures: PictureRequests, _ settings: LiveSettings, timeout: Nanoseconds) {
        self.pictures = pictures
        self.settings = settings
        self.timeout = timeout
        pairTimeout = Nanoseconds(timeout.count / 2)
    }

    /// Asks for a picture. The answer comes once: on the desk's thread, or at once on the caller's when it is a fault.
    func request(_ side: StreamPicture.Side, width: Int, _ answer: @escaping Answer) {
        let fault: PictureFault? = state.withLock { state in
            if state.isClosed { return .ended }
            guard state.asked.insert(side).inserted else { return .busy }
            if state.thread == nil { state.thread = StageThread(name: "pictures", niceness: 10) { [self] in run() } }
            return nil
        }
        if let fault { return answer(.failure(fault)) }
        let request = Request(side: side, width: width, deadline: .now() + timeout, answer: answer)
        if requests.offer(request) != nil { answer(.failure(.ended)) }
    }

    /// Answers what is on its way, and ends the thread.
    func close() {
        let thread = state.withLock { state in
            state.isClosed = true
            return state.thread.take()
        }
        requests.close()
        pictures.close()
        thread?.join()
    }

    private func run() {
        var kept: Kept?
        while let request = requests.pop() {
            let result = answer(request, &kept)
            _ = state.withLock { $0.asked.remove(request.side) }
            request.answer(result)
        }
    }

    private func answer(_ request: Request, _ kept: inout Kept?) -> Result<StreamPicture, PictureFault> {
        let former = kept.take()
        if let former, former.side == request.side, former.width == request.width,
            MonotonicTime.now() - former.time < pairTimeout, former.maskNumber >= settings.maskNumber
        {
            return former.result
        }
        while let tapped = pictures.next(until: request.deadline) {
            let maskNumber = tapped.maskNumber
            let answer = show(tapped, for: request, &kept)
            if maskNumber >= settings.maskNumber { return answer }
        }
        return .failure(state.withLock { $0.isClosed } ? .ended : .timeout)
    }

    /// Encodes both sides of a frame, and keeps the one that was not asked for.
    private func show(
        _ tapped: consuming TappedPictures, for request: Request, _ kept: inout Kept?
    ) -> Result<StreamPicture, PictureFault> {
        let time = MonotonicTime.now()
        let before = encode(tapped.before.size, tapped.color, tapped.frame, width: request.width) { color throws(CodecError) in
            unsafe try JPEGEncoder.encode(tapped.before.view, color, width: request.width)
        }
        var after = Result<StreamPicture, PictureFault>.failure(.notEnhanced)
        if let lease = tapped.after {
            after = encode(lease.picture.size, tapped.color, tapped.frame, width: request.width) { color throws(CodecError) in
                unsafe try JPEGEncoder.encode(lease.picture.view, color, width: request.width)
            }
        }
        let (wanted, other) = request.side == .before ? (before, after) : (after, before)
        kept = Kept(
            side: request.side == .before ? .after : .before, width: request.width, time: time,
            maskNumber: tapped.maskNumber, result: other)
        return wanted
    }

    private func encode(
        _ size: PictureSize, _ color: ColorDescription, _ frame: UInt64, width: Int,
        _ body: (ColorDescription) throws(CodecError) -> [UInt8]
    ) -> Result<StreamPicture, PictureFault> {
        do throws(CodecError) {
            let shown = JPEGEncoder.shownSize(of: size, color, width: width)
            return .success(StreamPicture(jpeg: try body(color), size: shown, frame: frame))
        } catch {
            return .failure(PictureFault(description: "\(error)"))
        }
    }
}
