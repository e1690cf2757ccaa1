/// Gathers transport packets into messages of seven (1,316 bytes: what SRT and UDP carry), and emits each as soon as it
/// is full or the unit ends. Allocates once.
@safe struct MessageBuffer: ~Copyable {
    static let capacity = 7 * TransportPacket.size
    private let bytes: UnsafeMutableRawBufferPointer
    private var used = 0

    init() { unsafe bytes = .allocate(byteCount: Self.capacity, alignment: 16) }
    deinit { unsafe bytes.deallocate() }

    /// Memory for one more packet, valid until the next call; emits a full message first.
    mutating func nextPacket(_ emit: (UnsafeRawBufferPointer) -> Void) -> UnsafeMutablePointer<UInt8> {
        if used == Self.capacity { unsafe flush(emit) }
        defer { used += TransportPacket.size }
        return unsafe (bytes.baseAddress! + used).assumingMemoryBound(to: UInt8.self)
    }

    /// Emits the packets that wait.
    mutating func flush(_ emit: (UnsafeRawBufferPointer) -> Void) {
        guard used > 0 else { return }
        unsafe emit(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[..<used]))
        used = 0
    }
}
