import Codec
import Enhance
import Media

/// Makes progressive pictures of a file's interlaced ones: one for each, at the moment of its first field. Pictures that are only
/// marked as interlaced stay as they are.
///
/// Confined to one thread at a time. Does not allocate after the first interlaced picture.
final class FileDeinterlacing {
    private let deinterlacer = Deinterlacer()
    private var before: DecodedPicture?
    private var made: Picture?
    /// Pictures that were made so far.
    private(set) var count = 0

    /// The picture that takes the place of an interlaced one, valid until the next call; nil where it stays as it is.
    /// - Parameter picture: the next in the order of presentation. All have one size.
    func progressive(_ picture: borrowing DecodedPicture) -> Picture? {
        guard picture.scan.isInterlaced, picture.size.height >= Deinterlacer.leastHeight else { return nil }
        let here = unsafe picture.view
        let old = unsafe before?.view
        if let old = unsafe old, unsafe !deinterlacer.examine(here, before: old) { return nil }
        let target = made ?? Picture(size: picture.size)
        made = target
        unsafe deinterlacer.make(
            .first, of: here, before: old, isTopFirst: picture.scan == .topFieldFirst, into: target.mutableView)
        count += 1
        return target
    }

    /// Keeps a picture for the next one, where the file has interlaced ones.
    func keep(_ picture: consuming DecodedPicture) {
        guard made != nil || picture.scan.isInterlaced else { return }
        before = consume picture
    }
}
