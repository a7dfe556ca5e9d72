import Foundation
import ProcessTesting
import Testing

/// Requirements of containers that can be checked without a container engine.
@Suite struct ContainerTests {
    private func text(of path: String, from file: String = #filePath) throws -> String {
        let root = URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The full Foundation has tables of every language, which would be more than half of the image.
    @Test func `the program links only FoundationEssentials`() async throws {
        let libraries = try ChildProcess("ldd", arguments: [builtProductPath(named: "flotilla")])
        #expect(try await libraries.exitStatus() == 0)
        let named = libraries.output.split(separator: "\n").filter { $0.contains("Foundation") }
        #expect(named.allSatisfy { $0.contains("libFoundationEssentials.so") }, "\(named)")
    }

    /// A container's root file system is read-only, and its user has no home directory.
    @Test func `every stage of Compose keeps its data in its volume`() throws {
        let lines = try text(of: "docker-compose.yml").split(separator: "\n")
        let stages = lines.filter { $0.contains("flotilla run ") || $0.contains("command: [run, ") }
        #expect(stages.count == 6)
        for stage in stages {
            #expect(stage.contains("/var/lib/flotilla") && stage.contains("--data"), "\(stage)")
        }
    }

    @Test func `only one service of Compose builds the image, and the build needs no tests`() throws {
        let compose = try text(of: "docker-compose.yml")
        #expect(compose.matches(of: /\n +build:/).count == 1)
        let build = try text(of: "deploy/Dockerfile")
        #expect(!build.contains("COPY Tests") && build.contains("--mount=type=cache"))
        #expect(try text(of: ".dockerignore").split(separator: "\n").contains("Tests"))
    }

    @Test func `the lines to paste wait for every stage and have a new group each time`() throws {
        let services = try text(of: "docker-compose.yml").components(separatedBy: "\n\n")
        let waiting = try #require(services.first { $0.contains("\n  try-it:") })
        for stage in ["gateway", "ingest", "scheduler", "fan-out", "sender", "insight", "apns-simulator"] {
            #expect(waiting.contains("\(stage): { condition: service_healthy }"), "\(stage)")
        }
        #expect(try text(of: "deploy/compose/try-it.sh").contains("group=match-$(("))
    }

    /// A volume gets the owner of the image's directory at its path. Without such a directory, root owns it.
    @Test func `every volume of our containers is mounted on a directory of the image`() throws {
        let compose = try text(of: "docker-compose.yml")
        let made = try text(of: "deploy/Dockerfile").split(separator: "\n").first {
            $0.contains("install -d")
        }
        let directories = Set(try #require(made).split(separator: " ").filter { $0.hasPrefix("/") })
        let services = compose.components(separatedBy: "\n\n").filter {
            $0.contains("    <<: *flotilla") || $0.contains("    <<: *image")
        }
        #expect(services.count == 9)
        for service in services {
            for volume in service.matches(of: /"[a-z-]+:(\/[a-z\/]+)(:ro)?"/) {
                #expect(directories.contains(volume.1), "\(volume.0)")
            }
        }
    }
}
