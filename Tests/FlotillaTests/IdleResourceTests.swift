import Foundation
import ProcessTesting
import Testing

/// The file descriptors and threads of a whole installation in one process.
struct IdleResourceTests {
    private static let descriptorsMax = 500
    private static let threadsMax = 100

    @Test func `an idle flotilla up with a thousand phones needs at most 500 descriptors and 100 threads`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let installation = try await DemonstratedInstallation(in: directory)
        func count(of folder: String) throws -> Int {
            try FileManager.default.contentsOfDirectory(
                atPath: "/proc/\(installation.process.processID)/\(folder)"
            ).count
        }
        // Files and clients that are not used any more close within a minute or two.
        var (descriptors, threads) = (Int.max, Int.max)
        // Also printed if the limits are exceeded.
        defer { print(descriptors, "descriptors and", threads, "threads") }
        try await eventually("the process needs no more than the limits", seconds: 180) {
            (descriptors, threads) = (try count(of: "fd"), try count(of: "task"))
            return descriptors <= Self.descriptorsMax && threads <= Self.threadsMax
        }
        let page = try Repository.text(of: "deploy/book/processes.md")
        #expect(page.contains("at most \(Self.descriptorsMax) descriptors and \(Self.threadsMax) threads"))
        installation.process.send(signal: SIGTERM)
        #expect(try await installation.process.exitStatus() == 0)
    }
}
