/// Areas of pictures that nobody is to recognise, and what becomes of each. Areas may lie over each other: the later one covers what the
/// earlier one has made.
public struct PrivacyMask: Hashable, Sendable {
    /// What becomes of an area.
    public enum Effect: Hashable, Sendable {
        /// Each block of so many luma samples on a side becomes its mean.
        case pixelate(Int)
        /// The same means, with a smooth way from each to the next. It shows no more than they do, and cannot be sharpened back.
        case blur(Int)
        /// It gets one colour.
        case fill(FillColor)
    }

    /// One area, in per cent of the picture as people see it: upright, and before anything is cut off.
    public struct Area: Hashable, Sendable {
        public var width: Double
        public var height: Double
        /// How far it lies from the picture's left and upper side.
        public var x: Double
        public var y: Double
        public var effect: Effect

        public init(x: Double, y: Double, width: Double, height: Double, _ effect: Effect) {
            (self.x, self.y, self.width, self.height, self.effect) = (x, y, width, height, effect)
        }
    }

    public var areas: [Area]

    /// So many areas are the most.
    public static let mostAreas = 16
    /// How large blocks may be. Smaller ones hide nothing.
    public static let blocks = 4...256

    public init(_ areas: [Area]) { self.areas = areas }

    /// Whether everything that `other` hides is hidden by the same areas of this one.
    public func contains(_ other: PrivacyMask) -> Bool { other.areas.allSatisfy(areas.contains) }
}

extension PrivacyMask.Area {
    /// The samples of a coded picture that the area touches, in luma: whole chroma samples, but for the last column or row of an odd
    /// size.
    /// - Parameters:
    ///   - size: of the picture as it is coded.
    ///   - turn: what makes it upright.
    public func region(of size: PictureSize, turn: PictureTurn) -> (x: Int, y: Int, width: Int, height: Int) {
        func axis(_ all: Int, _ place: Double, _ length: Double, isReversed: Bool) -> (place: Int, length: Int) {
            let (first, last) = isReversed ? (100 - place - length, 100 - place) : (place, place + length)
            let from = Int((Double(all) * first / 100).rounded(.down)) / 2 * 2
            let to = (Int((Double(all) * last / 100).rounded(.up)) + 1) / 2 * 2
            let begin = min(max(from, 0), max(all - 1, 0) / 2 * 2)
            return (begin, max(min(to, all) - begin, 1))
        }
        let (across, down) = turn.swapsAxes ? ((y, height), (x, width)) : ((x, width), (y, height))
        let columns = axis(size.width, across.0, across.1, isReversed: turn.reversesColumns)
        let rows = axis(size.height, down.0, down.1, isReversed: turn.reversesRows)
        return (columns.place, rows.place, columns.length, rows.length)
    }
}

extension PrivacyMask {
    /// One colour for an area.
    public struct FillColor: Hashable, Sendable, LosslessStringConvertible {
        public var red: UInt8
        public var green: UInt8
        public var blue: UInt8

        private static let names: [(String, UInt8)] = [("black", 0), ("grey", 128), ("white", 255)]

        public init(red: UInt8, green: UInt8, blue: UInt8) { (self.red, self.green, self.blue) = (red, green, blue) }

        /// Reads `black`, `grey`, `white`, or red, green and blue as `#20a0ff`.
        public init?(_ text: String) {
            if let named = Self.names.first(where: { $0.0 == text }) {
                self.init(red: named.1, green: named.1, blue: named.1)
                return
            }
            guard text.hasPrefix("#"), text.utf8.count == 7, text.dropFirst().allSatisfy(\.isHexDigit),
                let number = UInt32(text.dropFirst(), radix: 16)
            else { return nil }
            self.init(red: UInt8(number >> 16), green: UInt8(number >> 8 & 255), blue: UInt8(number & 255))
        }

        public var description: String {
            if red == green, green == blue, let named = Self.names.first(where: { $0.1 == red }) { return named.0 }
            return "#"
                + [red, green, blue].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }

        /// Y, U and V as samples of 8 bits with BT.709's matrix. Greys are the same with every matrix.
        public func samples(isFullRange: Bool) -> (y: UInt8, u: UInt8, v: UInt8) {
            let (r, g, b) = (Double(red) / 255, Double(green) / 255, Double(blue) / 255)
            let luma = 0.2126 * r + 0.7152 * g + 0.0722 * b
            let (black, range, chroma) = isFullRange ? (0.0, 255.0, 255.0) : (16, 219, 224)
            func sample(_ value: Double) -> UInt8 { UInt8(min(max(value.rounded(), 0), 255)) }
            return (
                sample(black + range * luma), sample(128 + chroma * (b - luma) / 1.8556),
                sample(128 + chroma * (r - luma) / 1.5748)
            )
        }
    }
}

// MARK: Text

extension PrivacyMask: CustomStringConvertible {
    /// What is wrong with a text, as the end of a sentence: "has an area beyond the picture: 30%x20%+80%+5%".
    public struct Fault: Error, Hashable, Sendable {
        public var text: String
    }

    /// Reads areas with commas between them: `30%x20%+10%+5%:pixelate=16,20%x20%+70%+70%:fill=black`.
    /// - Returns: the areas, or what is wrong; nil where the text is of another form.
    public static func read(_ text: String) -> Result<PrivacyMask, Fault>? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        var areas: [Area] = []
        for part in parts {
            switch Area.read(part) {
            case nil: return nil
            case .failure(let fault): return .failure(fault)
            case .success(let area): areas.append(area)
            }
        }
        guard areas.count <= mostAreas else {
            return .failure(Fault(text: "has at most \(mostAreas) areas, not \(areas.count)"))
        }
        return .success(PrivacyMask(areas))
    }

    /// Text that ``read(_:)`` accepts.
    public var description: String { areas.map(\.description).joined(separator: ",") }
}

extension PrivacyMask.Area: CustomStringConvertible {
    fileprivate static func read(_ text: Substring) -> Result<Self, PrivacyMask.Fault>? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let place = text[..<colon].split(separator: "+", omittingEmptySubsequences: false)
        guard place.count == 3 else { return nil }
        let sides = place[0].split(separator: "x", omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        var numbers: [Double] = []
        for number in sides + place[1...] {
            guard let share = share(number) else { return nil }
            numbers.append(share)
        }
        let (width, height, x, y) = (numbers[0], numbers[1], numbers[2], numbers[3])
        func fault(_ text: String) -> Result<Self, PrivacyMask.Fault> { .failure(PrivacyMask.Fault(text: text)) }
        let shown = text[..<colon].prefix(40)
        guard width > 0, height > 0 else { return fault("has an area without width or height: \(shown)") }
        guard x + width <= 100, y + height <= 100 else { return fault("has an area beyond the picture: \(shown)") }
        let effect = text[text.index(after: colon)...].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let value = effect.count == 2 ? String(effect[1]) : ""
        func area(_ effect: PrivacyMask.Effect) -> Result<Self, PrivacyMask.Fault> {
            .success(Self(x: x, y: y, width: width, height: height, effect))
        }
        switch effect[0] {
        case "pixelate", "blur":
            guard value.utf8.allSatisfy({ (48...57).contains($0) }), let block = Int(value), PrivacyMask.blocks.contains(block)
            else {
                let (least, most) = (PrivacyMask.blocks.lowerBound, PrivacyMask.blocks.upperBound)
                return fault(
                    "takes \(effect[0])=N with N from \(least) to \(most), not \(value.isEmpty ? "nothing" : value.prefix(20))")
            }
            return area(effect[0] == "blur" ? .blur(block) : .pixelate(block))
        case "fill":
            guard let color = PrivacyMask.FillColor(value) else {
                let found = value.isEmpty ? "nothing" : value.prefix(20)
                return fault("takes fill=black, grey, white or as #20a0ff, not \(found)")
            }
            return area(.fill(color))
        default: return fault("knows pixelate=N, blur=N and fill=COLOUR, not \(effect[0].prefix(20))")
        }
    }

    private static func share(_ text: Substring) -> Double? {
        let digits = text.dropLast()
        guard text.hasSuffix("%"), digits.utf8.allSatisfy({ $0 == 46 || (48...57).contains($0) }),
            let number = Double(digits), number <= 100
        else { return nil }
        return number
    }

    public var description: String {
        func share(_ number: Double) -> String { (Int(exactly: number).map { "\($0)" } ?? "\(number)") + "%" }
        let effect =
            switch effect {
            case .pixelate(let block): "pixelate=\(block)"
            case .blur(let block): "blur=\(block)"
            case .fill(let color): "fill=\(color)"
            }
        return "\(share(width))x\(share(height))+\(share(x))+\(share(y)):\(effect)"
    }
}
