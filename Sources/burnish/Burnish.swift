import ArgumentParser

@main
struct Burnish: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "burnish", abstract: "Relays live video, upscaled and interpolated, under a per-frame deadline.",
        subcommands: [
            RelayCommand.self, EnhanceCommand.self, ThumbnailsCommand.self, TestSourceCommand.self, ProbeCommand.self,
            ImpairCommand.self, TopCommand.self, RecordsCommand.self, StillCommand.self, ClipCommand.self, ReplayCommand.self,
            BenchCommand.self, WorkerCommand.self,
            DeferredCommand.self,
        ])
}
