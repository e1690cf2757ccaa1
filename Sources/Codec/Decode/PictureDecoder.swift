/// What a relay needs of a decoder: ``VideoDecoder``, or in tests one that fails.
///
/// Confined to one thread at a time.
public protocol PictureDecoder: AnyObject {
    /// Skips pictures that no other refers to.
    var skipsNonReference: Bool { get set }
    /// Exports the mean quantiser of each picture.
    var exportsQuantisers: Bool { get set }
    /// The brightest light of PQ pictures in cd/m²; nil: as they say.
    var hdrPeak: Double? { get set }

    /// Decodes one coded picture; see ``VideoDecoder/decode(_:id:flags:)``.
    /// - Returns: false where it was skipped.
    @discardableResult
    func decode(_ unit: UnsafeRawBufferPointer, id: Int64, flags: UnitFlags) throws(CodecError) -> Bool
    /// The next picture or fault; see ``VideoDecoder/next()``.
    func next() throws(CodecError) -> DecoderOutput?
    /// Releases what is held back; see ``VideoDecoder/drain()``.
    func drain()
}

extension PictureDecoder {
    // Decoders of tests have no colours.
    public var hdrPeak: Double? {
        get { nil }
        set {}
    }
}

extension VideoDecoder: PictureDecoder {}
