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
        #expect(general.networks == .general && calls.networks == .calls && !general.suffice(for: calls))
        let made = recipe.make(calls, lacking: general)
        let networks = try #require(made.superResolution?.configuration.networks)
        #expect(networks.mapValues(\.multiplicationsPerSample) == [.neuralSmall: 2088, .neuralMedium: 16848])
        #expect(made.synthesis == nil && made.denoising == nil)
        #expect(recipe.make(calls, lacking: calls).superResolution == nil)

        // Where there are no networks, content changes nothing.
        #expect(EnhancementAbilities(for: settings, doubles: false, synthesises: false).networks == nil)
        settings.tier = .base
        #expect(EnhancementAbilities(for: settings, doubles: true, synthesises: false).networks == nil)
    }
}
