// An overlay as text, for settings.
extension Overlay: CustomStringConvertible {
    /// What is wrong with a text, as the end of a sentence.
    public typealias Fault = OverlayText.Fault

    /// Reads items with semicolons between them: `-2%+3%:size=8%:image=/srv/logo.png;+2%-2%:text=%H:%M:%S {stream}`. A place begins at the
    /// left and upper side (`+`), or at the right and lower side (`-`). What is shown stands last. `\;` and `\\` are characters of it.
    /// - Returns: the items, or what is wrong; nil where the text is of another form.
    public static func read(_ text: String) -> Result<Overlay, Fault>? {
        guard !text.unicodeScalars.contains(where: \.properties.generalCategory.breaksText) else { return nil }
        var items: [Item] = []
        for part in split(text) {
            switch Item.read(part[...]) {
            case nil: return nil
            case .failure(let fault): return .failure(fault)
            case .success(let item): items.append(item)
            }
        }
        guard items.count <= mostItems else {
            return .failure(Fault(text: "has at most \(mostItems) items, not \(items.count)"))
        }
        return .success(Overlay(items))
    }

    /// The parts between semicolons, without the backslashes before characters.
    private static func split(_ text: String) -> [String] {
        var parts = [""]
        var isEscaped = false
        for character in text {
            if isEscaped {
                if character != ";", character != "\\" { parts[parts.count - 1].append("\\") }
                parts[parts.count - 1].append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == ";" {
                parts.append("")
            } else {
                parts[parts.count - 1].append(character)
            }
        }
        if isEscaped { parts[parts.count - 1].append("\\") }
        return parts
    }

    /// Text that ``read(_:)`` accepts.
    public var description: String { items.map(\.description).joined(separator: ";") }
}

extension Overlay.Item: CustomStringConvertible {
    fileprivate static func read(_ text: Substring) -> Result<Self, Overlay.Fault>? {
        var rest = text
        guard let x = Overlay.Distance(taking: &rest), let y = Overlay.Distance(taking: &rest), rest.popFirst() == ":" else {
            return nil
        }
        func fault(_ text: String) -> Result<Self, Overlay.Fault> { .failure(Overlay.Fault(text: text)) }
        var item = Self(x: x, y: y, .image(""))
        var size: Double?
        while true {
            let name = rest.prefix { $0 != "=" }
            guard rest.count > name.count else { return fault("has an item without image=PATH or text=TEXT at its end") }
            rest = rest.dropFirst(name.count + 1)
            switch name {
            case "image":
                guard rest.lowercased().hasSuffix(".png"), rest.utf8.count <= 4096 else {
                    return fault("takes image=PATH of a .png file")
                }
                return item.showing(.image(String(rest)), size)
            case "text":
                do throws(Overlay.Fault) { return item.showing(.text(try OverlayText(String(rest))), size) } catch {
                    return .failure(error)
                }
            default: break
            }
            let value = rest.prefix { $0 != ":" }
            rest = rest.dropFirst(value.count + 1)
            func number(_ end: Substring, _ range: ClosedRange<Double>) -> Double? {
                guard value.hasSuffix(end) else { return nil }
                return Self.number(value.dropLast(end.count)).flatMap { range.contains($0) ? $0 : nil }
            }
            let isRead: Bool
            switch name {
            case "size":
                size = number("%", 1...100)
                isRead = size != nil
            case "opacity": isRead = number("", 0...1).map { item.opacity = $0 } != nil
            case "box": isRead = number("", 0...1).map { item.box = $0 } != nil
            case "from": isRead = number("s", 0...86_400).map { item.from = $0 } != nil
            case "until": isRead = number("s", 0...86_400).map { item.until = $0 } != nil
            case "color": isRead = PrivacyMask.FillColor(String(value)).map { item.color = $0 } != nil
            default:
                return fault("knows size, opacity, from, until, color, box, image and text, not \(name.prefix(20))")
            }
            guard isRead else { return fault("takes \(usage(of: name)), not \(name)=\(value.prefix(20))") }
        }
    }

    private func showing(_ content: Overlay.Content, _ size: Double?) -> Result<Self, Overlay.Fault> {
        if let until, until <= from { return .failure(Overlay.Fault(text: "takes an until= that is later than from=")) }
        var item = self
        item.content = content
        item.size = size ?? content.usualSize
        return .success(item)
    }

    private static func usage(of name: Substring) -> String {
        switch name {
        case "size": "size=1% to size=100% of the picture's height"
        case "from", "until": "\(name)=5s, with a time from 0s to 86400s"
        case "color": "color=white, grey, black or as #20a0ff"
        default: "\(name)=0 to \(name)=1"
        }
    }

    /// Reads digits with a point, and nothing else. Four places behind the point are enough.
    fileprivate static func number(_ text: Substring) -> Double? {
        guard text.utf8.allSatisfy({ $0 == 46 || (48...57).contains($0) }), let number = Double(text) else { return nil }
        return number == 0 || number >= 0.0001 ? number : nil
    }

    fileprivate static func text(_ number: Double) -> String { Int(exactly: number).map { "\($0)" } ?? "\(number)" }

    public var description: String {
        var text = "\(x)\(y)"
        if size != content.usualSize { text += ":size=\(Self.text(size))%" }
        if opacity != 1 { text += ":opacity=\(Self.text(opacity))" }
        if from != 0 { text += ":from=\(Self.text(from))s" }
        if let until { text += ":until=\(Self.text(until))s" }
        let usual = Self(x: x, y: y, content)
        if color != usual.color { text += ":color=\(color)" }
        if box != usual.box { text += ":box=\(Self.text(box))" }
        let (name, shown) =
            switch content {
            case .image(let path): ("image", path)
            case .text(let line): ("text", line.text)
            }
        var escaped = ""
        for character in shown {
            if character == ";" || character == "\\" { escaped.append("\\") }
            escaped.append(character)
        }
        return "\(text):\(name)=\(escaped)"
    }
}

extension Overlay.Distance: CustomStringConvertible {
    /// Reads `+2%` or `-2%` at the beginning of a text, and takes it away.
    fileprivate init?(taking text: inout Substring) {
        guard let sign = text.popFirst(), sign == "+" || sign == "-" else { return nil }
        let digits = text.prefix { $0 != "%" }
        guard text.count > digits.count, let share = Overlay.Item.number(digits), share <= 100 else { return nil }
        text = text.dropFirst(digits.count + 1)
        self.init(share, isFromEnd: sign == "-")
    }

    public var description: String { "\(isFromEnd ? "-" : "+")\(Overlay.Item.text(share))%" }
}

extension Unicode.GeneralCategory {
    /// Whether such a character moves what is written elsewhere.
    var breaksText: Bool { self == .control || self == .lineSeparator || self == .paragraphSeparator }
}
