import Kernels
import Media

/// Lays images and lines of text over pictures that leave.
///
/// It touches only what they cover. Images are scaled when the step is made. A line of text is drawn again when its text changes.
public final class OverlayStep: PictureStep {
    public let kind = StepKind.overlay
    private let overlay: Overlay
    private let size: PictureSize
    private var tone: OverlayTone
    private var elements: [Element] = []
    private let kernels = Kernels.best

    private struct Element {
        enum Shape {
            case image(OverlayLayer)
            case line(OverlayLine)
        }

        let item: Overlay.Item
        let shape: Shape
    }

    /// - Parameters:
    ///   - overlay: with its material.
    ///   - size: of the pictures that leave.
    public init(_ overlay: Overlay, size: PictureSize) {
        self.overlay = overlay
        self.size = size
        // As pictures usually are.
        tone = OverlayTone(StepParameters(StepSettings()), height: size.height)
        makeElements()
    }

    public func suits(_ settings: StepSettings) -> Bool { settings.overlay == overlay }

    private func makeElements() {
        guard let material = overlay.material else { return }
        let upright = tone.turn.size(of: size)
        elements = overlay.items.compactMap { item in
            let height = max(2 * Int((Double(upright.height) * item.size / 200).rounded()), 2)
            switch item.content {
            case .image(let path):
                guard let image = material.images[path] else { return nil }
                return Element(
                    item: item, shape: .image(OverlayLayer(image, height: height, opacity: item.opacity, tone)))
            case .text(let text):
                guard let font = material.font else { return nil }
                let line = OverlayLine(
                    text, of: item, material, font: font, height: height, longest: upright.width, tone)
                return Element(item: item, shape: .line(line))
            }
        }
    }

    @unsafe public func process(
        _ input: StepInput?, into output: MutablePictureView, _ parameters: StepParameters
    ) throws(EnhanceError) -> StepOutcome {
        guard unsafe input != nil else { return .pending }
        let tone = OverlayTone(parameters, height: size.height)
        if tone != self.tone {
            self.tone = tone
            makeElements()
        }
        let moment = parameters.moment
        let time = moment.arrived == nil ? moment.presented : MonotonicTime.now() - (overlay.material?.made ?? .now())
        var isChanged = false
        for element in elements where element.item.isShown(at: time.seconds) {
            isChanged = true
            let layer: OverlayLayer
            switch element.shape {
            case .image(let image): layer = image
            case .line(let line):
                line.show(moment)
                layer = line.layer
            }
            let (x, y) = place(of: layer, element.item)
            unsafe layer.lay(over: output, x: x, y: y, kernels)
        }
        return isChanged ? .written : .unchanged
    }

    /// Where a layer lies in the picture as coded: in the picture as far as it fits.
    private func place(of layer: OverlayLayer, _ item: Overlay.Item) -> (x: Int, y: Int) {
        let upright = tone.turn.size(of: size)
        let (width, height) = (layer.uprightWidth(tone), layer.uprightHeight(tone))
        func fit(_ place: Int, _ length: Int, _ all: Int) -> Int { min(max(place, 0), max(all - length, 0)) }
        let x = fit(item.x.place(width, in: upright.width), width, upright.width)
        let y = fit(item.y.place(height, in: upright.height), height, upright.height)
        return tone.place(of: layer, x: x, y: y, in: size)
    }
}
