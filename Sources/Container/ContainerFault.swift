import Media

/// Something of a container that did not come, or that cannot be used.
///
/// This is the module's only description of faults, and events are their only way out. Each is reported once, when it
/// is found. The module keeps no counts: who wants them counts the events.
public enum ContainerFault: Hashable, Sendable, BitwiseCopyable {
    /// Bytes that belong to no packet were skipped, in search of the next packet's start or because bytes before them
    /// are missing.
    case unalignedBytes(Int)
    /// A packet has `transport_error_indicator` or an impossible adaptation field, or an RTP packet holds bytes that belong to nothing.
    case brokenPacket
    /// A continuity counter jumped: so many packets at least are missing.
    case gap(packets: Int)
    /// The continuity counters of this PID were wrong so often without a loss that they are not believed there. Reported once.
    case wrongCounters(stream: Int)
    /// A packet came a second time and was ignored.
    case duplicatePacket
    /// A packet, or the PES packet that begins in it, is encrypted.
    case scrambledPacket
    /// A section of a program table has a wrong checksum or an impossible length.
    case brokenSection
    /// A section of a program table was believed although its checksum is wrong, because it came again and again. Reported once.
    case believedSection
    /// A PES packet's header makes no sense. Its bytes are ignored.
    case brokenHeader
    /// Bytes of the main video belong to no unit, because their unit's beginning is missing.
    case orphanBytes(Int)
    /// A unit was larger than the limit and was dropped.
    case oversizedUnit(presentation: MediaTime?, isKeyframe: Bool)
    /// The main video unit with this serial number was delivered before its end, because the multiplex misled. Its
    /// picture, and all up to the next keyframe, are to be treated as damaged.
    case tornUnit(serial: Int)
}
