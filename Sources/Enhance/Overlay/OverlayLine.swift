import Glibc
import Media

/// A line of text as light to lay over a picture. It is drawn again when its text changes. Allocates nothing after that it is made, but
/// where the picture is turned another way. Confined to one thread at a time.
final class OverlayLine {
    let layer: OverlayLayer
    /// Of the upright line, even.
    private(set) var width = 0
    let height: Int
    private let longest: Int
    private let glyphs: GlyphSet
    private let parts: [Part]
    private let tone: OverlayTone
    /// What is shown, and what is about to be, as Unicode scalars.
    private var shown: [UInt32] = []
    private var next: [UInt32] = []
    /// How much of each sample of the upright line is covered.
    private var coverage: [UInt8]
    /// For each cover: what is added to luma and chroma, and what stays.
    private var light = (y: [UInt8](), u: [UInt8](), v: [UInt8]())
    private var rest: [UInt8] = []

    private enum Part {
        case literal([UInt32])
        /// What `strftime` reads.
        case clock([CChar])
        case field(OverlayText.Field)
    }

    /// What figures are made of.
    private static let usual = Set(UInt32(32)...126)

    /// - Parameters:
    ///   - height: of the line, even.
    ///   - longest: the picture's width. What would be longer is cut off.
    init(
        _ text: OverlayText, of item: Overlay.Item, _ material: OverlayMaterial, font: any GlyphSource, height: Int, longest: Int,
        _ tone: OverlayTone
    ) {
        self.height = height
        self.longest = longest / 2 * 2
        self.tone = tone
        parts = text.parts.map { part in
            switch part {
            case .literal(let text): .literal(text.unicodeScalars.map(\.value))
            case .clock(let letter): .clock(Array("%\(letter)".utf8CString))
            case .field(.stream): .literal(material.stream.unicodeScalars.map(\.value))
            case .field(let field): .field(field)
            }
        }
        let own = parts.flatMap { part -> [UInt32] in if case .literal(let scalars) = part { scalars } else { [] } }
        glyphs = font.glyphs(of: Self.usual.union(own), height: height)
        coverage = [UInt8](repeating: 0, count: self.longest * height)
        layer = OverlayLayer(width: 2, height: 2, room: self.longest * height)
        shown.reserveCapacity(1024)
        next.reserveCapacity(1024)
        makeTables(item)
    }

    /// Text lies over its box, and both over the picture.
    private func makeTables(_ item: Overlay.Item) {
        let color = item.color
        var table = (y: OverlayLayer.Plane(count: 256), u: OverlayLayer.Plane(count: 256), v: OverlayLayer.Plane(count: 256))
        for cover in 0...255 {
            let text = Double(cover) / 255 * item.opacity
            let alpha = text + (1 - Double(cover) / 255) * item.box * item.opacity
            let samples = tone.samples(
                text * Double(color.red) / 255, text * Double(color.green) / 255, text * Double(color.blue) / 255, alpha: alpha)
            table.y.set(cover, samples.y, alpha: alpha)
            table.u.set(cover, samples.u, alpha: alpha)
            table.v.set(cover, samples.v, alpha: alpha)
        }
        light = (table.y.light, table.u.light, table.v.light)
        rest = table.y.rest
    }

    /// Brings the line up to date.
    func show(_ moment: StepMoment) {
        compose(moment)
        guard next != shown || width == 0 else { return }
        swap(&next, &shown)
        draw()
        fill()
    }

    private func compose(_ moment: StepMoment) {
        next.removeAll(keepingCapacity: true)
        var clock = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &clock)
        for part in parts {
            switch part {
            case .literal(let scalars): next.append(contentsOf: scalars)
            case .clock(let format): append(format, clock.tv_sec)
            case .field(.ms): append(clock.tv_nsec / 1_000_000, digits: 3)
            case .field(.frame): append(Int(clamping: moment.number))
            case .field(.latency):
                guard let arrived = moment.arrived else { continue }
                let tenths = max((MonotonicTime.now() - arrived).count / 100_000, 0)
                append(Int(tenths / 10))
                next.append(UInt32(ascii: "."))
                append(Int(tenths % 10))
                for letter in " ms".utf8 { next.append(UInt32(letter)) }
            case .field(.timecode): appendTime(moment.presented)
            case .field(.stream): break  // it is a literal
            }
        }
    }

    private func append(_ format: [CChar], _ seconds: time_t) {
        var (seconds, parts) = unsafe (seconds, tm())
        unsafe localtime_r(&seconds, &parts)
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            let count = unsafe strftime(buffer.baseAddress!, buffer.count, format, &parts)
            for index in 0..<count { next.append(UInt32(UInt8(bitPattern: unsafe buffer[index]))) }
        }
    }

    private func append(_ number: Int, digits least: Int = 1) {
        var (power, digits) = (1, 1)
        while digits < least || number / power >= 10 { (power, digits) = (power * 10, digits + 1) }
        while power > 0 {
            next.append(UInt32(ascii: "0") + UInt32(number / power % 10))
            power /= 10
        }
    }

    private func appendTime(_ time: Nanoseconds) {
        let milliseconds = max(Int(time.count / 1_000_000), 0)
        append(milliseconds / 3_600_000, digits: 2)
        next.append(UInt32(ascii: ":"))
        append(milliseconds / 60_000 % 60, digits: 2)
        next.append(UInt32(ascii: ":"))
        append(milliseconds / 1000 % 60, digits: 2)
        next.append(UInt32(ascii: "."))
        append(milliseconds % 1000, digits: 3)
    }

    /// Draws the glyphs, each beside the one before.
    private func draw() {
        let margin = height / 4
        for row in 0..<height { for x in row * longest..<row * longest + width { coverage[x] = 0 } }
        var pen = margin
        for scalar in shown {
            guard let glyph = glyphs.glyphs[scalar] else { continue }
            for row in 0..<glyph.height {
                let y = glyphs.ascent - glyph.top + row
                guard (0..<height).contains(y) else { continue }
                let first = max(pen + glyph.left, 0)
                let last = min(pen + glyph.left + glyph.width, longest)
                guard first < last else { continue }
                let source = glyph.start + row * glyph.width - pen - glyph.left
                for x in first..<last { coverage[y * longest + x] = max(coverage[y * longest + x], glyphs.coverage[source + x]) }
            }
            pen += glyph.advance
        }
        width = min((pen + margin + 1) / 2 * 2, longest)
    }

    /// Makes light of what is covered, turned as the picture is coded.
    private func fill() {
        let turn = tone.turn
        let coded = turn.size(of: PictureSize(width: width, height: height))
        layer.reshape(width: coded.width, height: coded.height)
        // From one sample of a coded row to the next, and from row to row.
        let right = turn.swapsAxes ? longest : 1
        let down = turn.swapsAxes ? 1 : longest
        let across = turn.reversesColumns ? -right : right
        let below = turn.reversesRows ? -down : down
        let start = (turn.reversesColumns ? (coded.width - 1) * right : 0) + (turn.reversesRows ? (coded.height - 1) * down : 0)
        unsafe coverage.withUnsafeBufferPointer { coverage in
            layer.write { y, u, v in
                for row in 0..<coded.height {
                    var source = start + row * below
                    for index in row * coded.width..<(row + 1) * coded.width {
                        let cover = Int(unsafe coverage[source])
                        y.light[index] = light.y[cover]
                        y.rest[index] = rest[cover]
                        source += across
                    }
                }
                for row in 0..<coded.height / 2 {
                    var source = start + 2 * row * below
                    for index in row * coded.width / 2..<(row + 1) * coded.width / 2 {
                        let upper = unsafe Int(coverage[source]) + Int(coverage[source + across])
                        let lower = unsafe Int(coverage[source + below]) + Int(coverage[source + across + below])
                        let cover = (upper + lower + 2) / 4
                        u.light[index] = light.u[cover]
                        v.light[index] = light.v[cover]
                        u.rest[index] = rest[cover]
                        source += 2 * across
                    }
                }
            }
        }
    }
}

extension UInt32 {
    fileprivate init(ascii: Unicode.Scalar) { self = ascii.value }
}
