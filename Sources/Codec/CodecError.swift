import CFFmpeg

/// What libav refused, where, and what to do about it.
///
/// Every call into libav goes through ``check(_:_:at:_:advice:)``, so every failure carries libav's own code and words.
/// Making one allocates its strings. Damage in a stream is therefore no error but a value, ``CodecFault``.
public struct CodecError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong. A program chooses its exit code by it, or whether to try again.
    public enum Kind: Hashable, Sendable {
        /// The file or device is not there or cannot be opened.
        case cannotOpen
        /// The file holds no video that could be decoded.
        case noVideo
        /// The data is not what it claims to be.
        case invalidData
        /// libav was built without this codec or container, or the container cannot hold the codec.
        case unsupportedCodec
        /// A size, sample format or setting that this stage cannot do.
        case unsupportedFormat
        /// The operating system refused a write: a full disk or a closed pipe.
        case writeFailed
        case outOfMemory
        /// Anything else that libav reported.
        case library
    }

    public let kind: Kind
    /// The call that failed, by its C name, or the check of our own that did.
    public let operation: String
    /// libav's error code (negative), 0 where the check was our own.
    public let code: Int32
    /// libav's words for the code, and its last log line of this thread where there was one.
    public let message: String
    /// The stage or file that the call was for.
    public let place: String
    /// What the reader can do.
    public let advice: String

    public init(
        _ kind: Kind, operation: String, code: Int32 = 0, message: String, place: String, advice: String = ""
    ) {
        self.kind = kind
        self.operation = operation
        self.code = code
        self.message = message
        self.place = place
        self.advice = advice
    }

    public var description: String {
        let name = code == 0 ? operation : "\(operation) (\(code))"
        return "\(place): \(message) [\(name)]" + (advice.isEmpty ? "" : "; \(advice)")
    }
}

/// The one funnel for libav's return codes: passes a good one on, throws a bad one.
/// - Parameters:
///   - code: what the call returned; negative is an error.
///   - operation: the C function's name.
///   - kind: what a failure here means, where the code itself does not say.
@discardableResult
func check(
    _ code: Int32, _ operation: StaticString, at place: @autoclosure () -> String, _ kind: CodecError.Kind = .library,
    advice: @autoclosure () -> String = ""
) throws(CodecError) -> Int32 {
    if code >= 0 { return code }
    throw failure(code, operation, at: place(), kind, advice: advice())
}

/// The funnel for calls that return a pointer: nil is an error.
func check<T>(
    _ pointer: UnsafeMutablePointer<T>?, _ operation: StaticString, at place: @autoclosure () -> String
) throws(CodecError) -> UnsafeMutablePointer<T> {
    if let pointer = unsafe pointer { return unsafe pointer }
    throw failure(burnish_averror_enomem, operation, at: place(), .outOfMemory)
}

private func failure(
    _ code: Int32, _ operation: StaticString, at place: String, _ kind: CodecError.Kind, advice: String = ""
) -> CodecError {
    let words = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
        _ = unsafe av_strerror(code, buffer.baseAddress!, buffer.count)
        return unsafe String(cString: buffer.baseAddress!)
    }
    let log = LibraryLog.popLastError()
    return CodecError(
        code == burnish_averror_enomem ? .outOfMemory : kind, operation: "\(operation)", code: code,
        message: log.isEmpty ? words : "\(words): \(log)", place: place, advice: advice)
}
