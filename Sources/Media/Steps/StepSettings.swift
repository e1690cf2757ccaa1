/// What somebody asks of the steps: the same for live streams, files and programs that compose a chain of their own. A new value has
/// every step neutral but deinterlacing.
public struct StepSettings: Hashable, Sendable {
    /// What becomes of interlaced pictures.
    public enum Deinterlacing: String, Sendable, CaseIterable {
        /// Each becomes one frame.
        case auto
        /// Each becomes two frames, one for each field. In a file it is one.
        case fields
        /// They stay as they are.
        case off
    }

    public var deinterlace = Deinterlacing.auto
    /// What nobody is to recognise; nil is nothing.
    public var mask: PrivacyMask?
    /// The part that is shown; nil is all of the picture.
    public var crop: Crop?
    /// How brightness, contrast and colours are changed.
    public var color = ColorControls()
    /// How much noise is taken out, from 0 (none) to 1; nil finds it out.
    public var denoise: Double? = 0
    /// How much enlarged pictures are sharpened, from 0 (not at all) to 1.
    public var sharpness = 0.0
    /// What stands on pictures; nil is nothing.
    public var overlay: Overlay?
    /// The path of the font for its text.
    public var overlayFont = Overlay.usualFont
    /// Effects that run, or have run.
    public var reactions: [Reaction] = []

    public init() {}

    /// Whether a step changes nothing with these settings. It is not there then, and costs nothing.
    public func isNeutral(_ kind: StepKind) -> Bool {
        switch kind {
        case .deinterlace: deinterlace == .off
        case .mask: mask?.areas.isEmpty ?? true
        case .crop: crop?.isWhole ?? true
        case .color: color.isNeutral
        case .denoise: denoise == 0
        case .sharpen: sharpness == 0
        case .overlay: overlay?.material == nil
        case .reactions: reactions.isEmpty
        // These two follow from sizes and rates.
        case .enlarge, .synthesise: false
        }
    }

    /// Whether the quantisers of pictures matter: to noise that is found out.
    public var readsQuantisers: Bool { denoise == nil }

    /// Whether a step is on that no picture may pass untouched.
    public var holdsBypass: Bool { StepSet.holdingBypass.contains { !isNeutral($0) } }

    /// Whether all that other settings hide is hidden in the same way by these.
    public func hides(allOf other: StepSettings) -> Bool {
        guard let hidden = other.mask else { return true }
        return mask?.contains(hidden) ?? hidden.areas.isEmpty
    }

    /// The files that these settings name, each once, with the setting.
    public var files: [(key: String, path: String)] {
        var files = color.lut.map { [("lut", $0.path)] } ?? []
        guard let overlay else { return files }
        files += overlay.images.map { ("overlay", $0) }
        if overlay.hasText { files.append(("overlay-font", overlayFont)) }
        return files
    }

    /// The steps at a place that change something.
    public func active(at place: StepKind.Place) -> StepSet {
        var active = StepSet()
        for kind in StepSet.all where kind.facts.place == place && !isNeutral(kind) { active.insert(kind) }
        return active
    }
}

extension StepSettings {
    /// The part of pictures that is shown, brought to the size of the whole. A part of another shape is stretched.
    public struct Crop: Hashable, Sendable, LosslessStringConvertible {
        /// Whether numbers are per cent of the picture's width or height, or else luma samples as they came.
        public var isShare: Bool
        public var width: Double
        public var height: Double
        /// How far the part lies from the picture's left and upper side; nil is in the middle.
        public var place: Place?

        public struct Place: Hashable, Sendable {
            public var x: Double
            public var y: Double
        }

        /// Nothing smaller is shown.
        public static let leastSide = 16

        /// Reads `320x180`, `320x180+100+40`, `50%x50%` or `50%x50%+10%+0%`.
        public init?(_ text: String) {
            let parts = text.split(separator: "+", omittingEmptySubsequences: false)
            let sides = parts[0].split(separator: "x", omittingEmptySubsequences: false)
            guard sides.count == 2, parts.count == 1 || parts.count == 3 else { return nil }
            let isShare = sides[0].hasSuffix("%")
            let longest = isShare ? 100.0 : 16_384
            func number(_ text: Substring, from least: Double) -> Double? {
                let digits = isShare ? text.dropLast() : text
                guard text.hasSuffix("%") == isShare, digits.allSatisfy({ $0 == "." || ("0"..."9").contains($0) }),
                    let number = Double(digits), (least...longest).contains(number)
                else { return nil }
                return number
            }
            let leastSide = isShare ? 1 : Double(Self.leastSide)
            guard let width = number(sides[0], from: leastSide), let height = number(sides[1], from: leastSide) else {
                return nil
            }
            (self.isShare, self.width, self.height) = (isShare, width, height)
            guard parts.count == 3 else { return }
            guard let x = number(parts[1], from: 0), let y = number(parts[2], from: 0) else { return nil }
            place = Place(x: x, y: y)
        }

        public var description: String {
            func text(_ number: Double) -> String {
                (Int(exactly: number).map { "\($0)" } ?? "\(number)") + (isShare ? "%" : "")
            }
            return text(width) + "x" + text(height) + (place.map { "+" + text($0.x) + "+" + text($0.y) } ?? "")
        }

        /// Whether it is all of any picture.
        public var isWhole: Bool { isShare && width == 100 && height == 100 }

        /// The part in luma samples of pictures of a size. What reaches beyond a picture is moved into it, and made smaller where
        /// that is not enough. Sides and places are even, so that chroma samples stay whole, but for a side that is all of an odd one.
        public func region(of size: PictureSize) -> (x: Int, y: Int, width: Int, height: Int) {
            func axis(_ all: Int, _ length: Double, _ place: Double?) -> (place: Int, length: Int) {
                let scale = isShare ? Double(all) / 100 : 1
                let even = Int((length * scale / 2).rounded()) * 2
                let length = min(max(even, Self.leastSide), all)
                let free = all - length
                let wanted = place.map { $0 * scale } ?? Double(free) / 2
                return (min(Int(wanted.rounded()), free) / 2 * 2, length)
            }
            let (x, width) = axis(size.width, width, place?.x)
            let (y, height) = axis(size.height, height, place?.y)
            return (x, y, width, height)
        }
    }
}
