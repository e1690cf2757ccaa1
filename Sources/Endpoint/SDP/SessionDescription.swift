/// A session description (RFC 8866): what is sent where and in which formats, as calls and RTP streams describe it.
///
/// A value. It keeps all attributes as they came and reads the ones that RTP and WebRTC need (``MediaSection``). Lines of
/// kinds that nobody here needs (`i=`, `u=`, `e=`, `p=`, `r=`, `k=`) are left out.
public struct SessionDescription: Hashable, Sendable {
    /// Who made the description (`o=`).
    public struct Origin: Hashable, Sendable {
        public var user = "-"
        /// Decimal digits.
        public var session = "0"
        /// Decimal digits. It grows with every new version of the description.
        public var version = "0"
        public var address = "127.0.0.1"

        public init(user: String = "-", session: String = "0", version: String = "0", address: String = "127.0.0.1") {
            self.user = user
            self.session = session
            self.version = version
            self.address = address
        }
    }

    /// The limits on what is read. What exceeds one is a fault.
    public enum Limit {
        public static let bytes = 128 << 10
        public static let lineBytes = 8192
        public static let sections = 32
        public static let formats = 128
        public static let attributes = 4000
    }

    public var origin = Origin()
    /// `s=`
    public var name = "-"
    /// The address of all sections that have none of their own (`c=`).
    public var connection: String?
    /// Those of the whole session.
    public var attributes: [SDPAttribute] = []
    public var media: [MediaSection] = []

    public init() {}
}

/// An attribute of a session or of a section: `a=name` or `a=name:value`.
public struct SDPAttribute: Hashable, Sendable {
    public var name: String
    /// Nil for a flag.
    public var value: String?

    public init(_ name: String, _ value: String? = nil) {
        self.name = name
        self.value = value
    }
}

/// One stream of media, or several formats of one, among which the sender chooses (`m=`).
public struct MediaSection: Hashable, Sendable {
    /// `audio`, `video`, `application`, or something else.
    public var kind: String
    /// 0 for a section that is refused, or bundled into another one.
    public var port: UInt16
    /// Such as `RTP/AVP`, `RTP/AVPF`, `UDP/TLS/RTP/SAVPF`.
    public var transport: String
    /// Payload types, for RTP.
    public var formats: [String]
    public var connection: String?
    public var attributes: [SDPAttribute] = []

    public init(kind: String, port: UInt16, transport: String, formats: [String], connection: String? = nil) {
        self.kind = kind
        self.port = port
        self.transport = transport
        self.formats = formats
        self.connection = connection
    }
}

/// What is wrong with a session description, and where.
public struct SDPFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// Counted from 1; 0 for the whole.
    public let line: Int
    public let message: String

    public init(line: Int, _ message: String) {
        self.line = line
        self.message = message
    }

    public var description: String { line > 0 ? "line \(line): \(message)" : message }
}
