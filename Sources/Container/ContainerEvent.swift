import Bitstream

/// What comes out of a container: the same for every kind of container, so that the relay has one switch.
public enum ContainerEvent {
    /// The program of a transport stream that is followed: its first map, or a changed one.
    case program(ProgramDescription)
    /// What a transport stream holds beside the program that is followed: it comes behind the first ``program(_:)``, and at each
    /// change. Nil where it holds nothing else.
    case multiplex(Multiplex?)
    /// Packets of other programs and of tables of the whole stream.
    case packets(TransportPackets)
    /// The main video's first or changed parameters; comes before the unit that they are for.
    case format(VideoParameters)
    case unit(StreamUnit)
    /// - Parameter isMainVideo: whether the fault is known to be the main video's.
    case fault(ContainerFault, isMainVideo: Bool)
}
