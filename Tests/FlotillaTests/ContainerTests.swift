import Foundation
import ProcessTesting
import Testing

/// What containers need of the program and the files beside it, as far as it can be told without an engine.
@Suite struct ContainerTests {
    private func text(of path: String, from file: String = #filePath) throws -> String {
        let root = URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Tables of every language would be more than half of the image.
    @Test func `the program links no more of Foundation than its essentials`() async throws {
        let libraries = try ChildProcess("ldd", [builtProduct("flotilla")])
        #expect(try await libraries.exitStatus() == 0)
        let named = libraries.output.split(separator: "\n").filter { $0.contains("Foundation") }
        #expect(named.allSatisfy { $0.contains("libFoundationEssentials.so") }, "\(named)")
    }

    /// A container's root is read-only, and nobody has a home in it.
    @Test func `every stage of Compose keeps its data in its volume`() throws {
        let lines = try text(of: "docker-compose.yml").split(separator: "\n")
        let stages = lines.filter { $0.contains("flotilla run ") || $0.contains("command: [run, ") }
        #expect(stages.count == 6)
        for stage in stages {
            #expect(stage.contains("/var/lib/flotilla") && stage.contains("--data"), "\(stage)")
        }
    }

    /// A volume gets the owner of the directory that the image has in its place, and root's where it has none.
    @Test func `every volume of a container of ours lies where the image has a directory`() throws {
        let compose = try text(of: "docker-compose.yml")
        let made = try text(of: "deploy/Dockerfile").split(separator: "\n").first {
            $0.contains("install -d")
        }
        let directories = Set(try #require(made).split(separator: " ").filter { $0.hasPrefix("/") })
        let services = compose.components(separatedBy: "\n\n").filter { $0.contains("<<: *flotilla") }
        #expect(services.count == 8)
        for service in services {
            for volume in service.matches(of: /"[a-z-]+:(\/[a-z\/]+)(:ro)?"/) {
                #expect(directories.contains(volume.1), "\(volume.0)")
            }
        }
    }
}
