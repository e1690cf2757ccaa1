import Enhance
import EnhanceNetworks
import Media
import Schedule
import Settings
import Testing
@testable import Relay

/// Processors that are made beside a stream.
@Suite struct ProcessorMakerTests {
    /// The choice may be another one when they are there.
    @Test(arguments: [PictureSize(width: 240, height: 144), PictureSize(width: 1_000_000, height: 2)])
    func whatWasAskedForComesWithTheProduct(output: PictureSize) throws {
        let asked = Enlargement(from: PictureSize(width: 160, height: 96), to: output)
        let recipe = EnhancementRecipe(
            enlargement: asked, order: .beforeOriginal, workers: WorkerPool(threadCount: 1))
        let maker = ProcessorMaker()
        maker.make(recipe, EnhancementAbilities(networks: nil, synthesises: false))
        maker.finish()
        guard case .enhancement(let made, let answered) = maker.take() else {
            Issue.record("nothing was made")
            return
        }
        #expect(answered == asked)
        #expect((made == nil) == (output.height < 16))
    }

    /// The largest network is made where it is asked for; until it is there the tier below is the best.
    @Test func theLargestNetworkIsMadeWhereItIsAskedFor() throws {
        var settings = StreamSettings()
        let size = PictureSize(width: 160, height: 96)
        let recipe = EnhancementRecipe(
            enlargement: Enlargement(from: size, to: size.scaled(by: 2)), order: .beforeOriginal,
            workers: WorkerPool(threadCount: 1))
        let usual = EnhancementAbilities(for: settings, doubles: true, synthesises: false)
        let enhancement = try Enhancement(recipe, usual)
        #expect(
            settings.tier == .neuralM && enhancement.ceiling(.quality) == .neuralM && enhancement.ceiling(.neuralS) == .neuralS)
        settings.tier = .quality
        let asked = EnhancementAbilities(for: settings, doubles: true, synthesises: false)
        let lack = enhancement.lack(of: asked)
        #expect(lack.networks)
        #expect(enhancement.adopt(recipe.make(lack)) && enhancement.ceiling(.quality) == .quality)
        let withdrawn = enhancement.lack(of: usual)
        #expect(withdrawn.networks && enhancement.adopt(recipe.make(withdrawn)) && enhancement.ceiling(.quality) == .neuralM)
    }

    /// Another content is another session with other weights, and nothing else is made anew.
    @Test func anotherContentHasOtherWeights() throws {
        var settings = StreamSettings()
        let size = PictureSize(width: 160, height: 96)
        let recipe = EnhancementRecipe(
            enlargement: Enlargement(from: size, to: size.scaled(by: 2)), order: .beforeOriginal,
            workers: WorkerPool(threadCount: 1))
        let general = EnhancementAbilities(for: settings, doubles: true, synthesises: true)
        settings.content = .calls
        let calls = EnhancementAbilities(for: settings, doubles: true, synthesises: true)
        #expect(general.networks?.content == .general && calls.networks?.content == .calls)
        let enhancement = try Enhancement(recipe, general)
        #expect(enhancement.lack(of: general).isEmpty)
        let lack = enhancement.lack(of: calls)
        #expect(lack.networks && !lack.synthesis && lack.kinds.isEmpty)
        let made = recipe.make(lack)
        let networks = try #require(made.enlarging?.session.configuration.networks)
        #expect(networks.mapValues(\.multiplicationsPerSample) == [.neuralSmall: 2088, .neuralMedium: 16848])
        #expect(made.synthesis == nil && made.steps.isEmpty)
        #expect(enhancement.adopt(made) && enhancement.lack(of: calls).isEmpty)

        // A step that is there and not wanted costs nothing.
        settings.steps.denoise = 0.5
        let filtered = EnhancementAbilities(for: settings, doubles: true, synthesises: true)
        let lacking = enhancement.lack(of: filtered)
        #expect(lacking.kinds == [.denoise] && !lacking.networks && enhancement.steps.isEmpty)
        enhancement.use(filtered.steps)
        #expect(enhancement.steps.isEmpty, "it is not there yet")
        #expect(enhancement.adopt(recipe.make(lacking)) && enhancement.steps == [.denoise])
        enhancement.use(calls.steps)
        #expect(enhancement.steps.isEmpty && enhancement.lack(of: filtered).isEmpty)

        // Pictures that leave less than twice as large have networks, too.
        let smaller = EnhancementRecipe(
            enlargement: Enlargement(from: size, to: OutputSize.oneAndHalf.size(of: size), refined: true),
            order: .beforeOriginal,
            workers: WorkerPool(threadCount: 1))
        let refined = try Enhancement(smaller, general)
        #expect(refined.tileCount > 0 && refined.synthesises && refined.output == PictureSize(width: 240, height: 144))

        // Where there are no networks, content changes nothing.
        #expect(EnhancementAbilities(for: settings, doubles: false, synthesises: false).networks == nil)
        settings.tier = .base
        #expect(EnhancementAbilities(for: settings, doubles: true, synthesises: false).networks == nil)
    }
}
