import ArgumentParser
import Control
import Web

/// The service: supervises streams, each in a worker process of its own.
@main
struct Burnishd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "burnishd",
        abstract: "Relays live streams as a service: upscales them, interpolates them and sends them on.")
}
