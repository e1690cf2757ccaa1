/// What a relay asks of a decoder: ``VideoDecoder``, or in tests one that fails.
///
/// Confined to one thread at a time.
public protocol PictureDecoder: AnyObject {
    var skipsNonReference: Bool { get set }

    /// Takes one coded picture in; see ``VideoDecoder/decode(_:id:flags:)``.
    /// - Returns: false where it was left out.
    @discardableResult
    func decode(_ unit: UnsafeRawBufferPointer, id: Int64, flags: UnitFlags) throws(CodecError) -> Bool
    /// The next picture or report; see ``VideoDecoder/next()``.
    func next() throws(CodecError) -> DecoderOutput?
    func drain()
}

extension VideoDecoder: PictureDecoder {}
