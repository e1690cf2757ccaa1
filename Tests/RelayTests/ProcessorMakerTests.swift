import Enhance
import Media
import Schedule
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
        maker.make(recipe, EnhancementAbilities(usesNetworks: false, synthesises: false))
        maker.finish()
        guard case .enhancement(let made, let answered) = maker.take() else {
            Issue.record("nothing was made")
            return
        }
        #expect(answered == asked)
        #expect((made == nil) == (output.height < 16))
    }
}
