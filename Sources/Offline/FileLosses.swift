import Codec
import Media

/// Says for people, once for each kind, what of the pictures is not kept.
///
/// Confined to one thread at a time.
final class FileLosses {
    private let output: String
    private let notice: (String) -> Void
    /// What the newest picture's colours were before they became BT.709's.
    private var colorBefore: ColorDescription?
    /// Pictures of more bits or finer chroma than are kept, and what the newest of them was.
    private(set) var converted = 0
    private var format: SampleFormat?
    private var saidNotRestored = false
    /// Gaps that were kept where the rate is constant.
    private(set) var gapsKept = 0

    init(output: String, notice: @escaping (String) -> Void) { (self.output, self.notice) = (output, notice) }

    /// - Parameters:
    ///   - gap: in seconds.
    ///   - end: in seconds from the first picture.
    ///   - isWanted: gaps are to be kept.
    func tellGap(_ gap: Double, before end: Double, isWanted: Bool) {
        if gapsKept == 0, !isWanted {
            notice(
                "no picture comes for \(Int(gap.rounded())) s from \(Int((end - gap).rounded())) s on: gaps of more than a minute are "
                    + "not filled")
        }
        gapsKept += 1
    }

    /// Keeps how transparent the first picture is, too.
    func tell(
        _ picture: borrowing DecodedPicture, _ reader: FileReader, _ writer: MediaFileWriter, _ transparency: FileTransparency
    ) {
        if let color = picture.colorBefore, color != colorBefore {
            notice(
                color.isHDR
                    ? "pictures are HDR (\(color.colorsInWords)): converted to SDR"
                    : "pictures have the colours of \(color.colorsInWords): converted to BT.709's")
            colorBefore = color
        }
        if let format = picture.convertedFrom, format.isReduced {
            converted += 1
            if format != self.format { notice("pictures are \(format): converted to 8-bit 4:2:0") }
            self.format = format
        }
        guard reader.readsTransparency else { return }
        if writer.holdsTransparency {
            // Such a file holds one picture.
            reader.readsTransparency = false
            if let clear = reader.transparency { transparency.keep(clear) }
        } else if reader.transparency != nil {
            reader.readsTransparency = false
            notice("what is transparent is written as opaque, for \(output) cannot hold it: name a .png file for one picture")
        }
    }

    func tellNotRestored() {
        if saidNotRestored { return }
        saidNotRestored = true
        notice("nothing says how coarsely the pictures were coded: they are not restored")
    }
}
