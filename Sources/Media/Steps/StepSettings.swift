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
    /// How much noise is taken out, from 0 (none) to 1; nil finds it out.
    public var denoise: Double? = 0
    /// How much enlarged pictures are sharpened, from 0 (not at all) to 1.
    public var sharpness = 0.0

    public init() {}

    /// Whether a step changes nothing with these settings. It is not there then, and costs nothing.
    public func isNeutral(_ kind: StepKind) -> Bool {
        switch kind {
        case .deinterlace: deinterlace == .off
        case .denoise: denoise == 0
        case .sharpen: sharpness == 0
        // These two follow from sizes and rates.
        case .enlarge, .synthesise: false
        }
    }

    /// Whether the quantisers of pictures matter: to noise that is found out.
    public var readsQuantisers: Bool { denoise == nil }

    /// The steps at a place that change something.
    public func active(at place: StepKind.Place) -> StepSet {
        var active = StepSet()
        for kind in StepSet.all where kind.facts.place == place && !isNeutral(kind) { active.insert(kind) }
        return active
    }
}
