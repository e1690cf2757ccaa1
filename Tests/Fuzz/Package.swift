// swift-tools-version: 6.2
import PackageDescription

// A package of its own, because libFuzzer has a main function: nothing else links in a build with it. `tools/fuzz` builds it.
let package = Package(
    name: "burnish-fuzz",
    dependencies: [.package(name: "burnish", path: "../..")],
    targets: [
        .executableTarget(
            name: "burnish-fuzz", dependencies: [.product(name: "Parsers", package: "burnish")], path: ".",
            exclude: ["Seeds"],
            swiftSettings: [
                .treatAllWarnings(as: .error),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableExperimentalFeature("Lifetimes"),
                .unsafeFlags(["-parse-as-library"]),
            ])
    ])
