/// What a reader has read before anybody asked: the first picture, and the packets of other streams before it.
struct FileLookahead: ~Copyable {
    /// A place for what cannot be copied.
    private final class Place {
        var item: FileReader.Item?

        init(_ item: consuming FileReader.Item) { self.item = consume item }
    }

    private var places: [Place] = []
    /// The first picture is among them.
    var isComplete = false
    /// Why nothing more could be read. It is thrown once, behind what was read.
    var failure: CodecError?

    /// A file with so many packets before its first picture is not read further.
    private static let capacity = 4096

    var hasRoom: Bool { !isComplete && places.count < Self.capacity }

    mutating func append(_ item: consuming FileReader.Item) { places.append(Place(item)) }

    mutating func next() throws(CodecError) -> FileReader.Item? {
        if !places.isEmpty { return places.removeFirst().item.take() }
        if let failure {
            self.failure = nil
            throw failure
        }
        return nil
    }
}
