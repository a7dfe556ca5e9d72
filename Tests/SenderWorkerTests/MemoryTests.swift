import Foundation
import IngestTesting
import Kafka
import KafkaTesting
import ProcessTesting
import Sender
import SenderTesting
import Testing
import Topics

/// The anonymous memory of a sender stays below the bound that its settings give, while all jobs must wait.
@Suite struct MemoryTests {
    private static let lanes = TopicLayout.lanesDefault

    @Test func `a backlog of the largest sheets fits into the bound of the settings`() async throws {
        let settings = SenderSettings()
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: Self.lanes)
        let directory = try TemporaryDirectory()
        let keys = directory.filePath(named: "keys")
        try SenderTestApps.makeKeys(in: keys)
        // More bytes than a process takes in hand and fetches ahead. All sheets have the same phones.
        let load = try JobLoad(on: bed, bodyBytes: 4000, jobsPerSheet: 1000)
        let head = load.makeUpdateHead(of: "match")
        load.writeCopies(600, of: head, to: 0..<1000)
        #expect(load.finish())
        // Nothing listens at this port, so every job waits for a connection.
        let process = try StageProcess(
            .sender, of: builtProductPath(named: "flotilla-bench"), on: bed,
            data: directory.filePath(named: "data"),
            extraArguments: ["--keys", keys, "--apns", "localhost:1"])
        let memory = PrivateMemorySampler(of: process.process.processID)
        try await memory.waitUntilSettled(aboveMiB: settings.limits.sheetBytesMax >> 20)
        process.stop()
        #expect(try await process.process.exitStatus() == 0)
        let peak = memory.stop()
        print("private memory at most", peak, "MiB")
        #expect(peak <= settings.anonymousBytesMax(lanes: Self.lanes) >> 20, "\(peak) MiB")
    }

    @Test func `the page says the bound of the settings`() throws {
        let page = try Repository.text(of: "deploy/book/sender.md")
        let bound = SenderSettings().anonymousBytesMax(lanes: 12) >> 20
        #expect(page.contains("With the defaults and 12 lanes that is \(bound) MiB."))
        // The formula of the page, applied to other settings.
        var settings = SenderSettings()
        (settings.limits.sheetBytesMax, settings.limits.permitsMax, settings.loops) = (1 << 20, 7000, 2)
        // A fetch of 16 MiB and 64 headers of 300 KiB ahead, an answer of 4 MiB, and a batch of 4 MiB.
        let loopBytes = (16 << 20) + 64 * (300 << 10) + (4 << 20) + (4 << 20)
        let formula = (128 << 20) + 2 * (1 << 20) + (4 << 10) * 7000 + 2 * loopBytes + (4 << 20) * 3
        #expect(settings.anonymousBytesMax(lanes: 3) == formula)
        #expect(
            page.contains(
                "128 MiB + 2 × sender.hand + 4 KiB × sender.permits + 43 MiB × sender.loops + 4 MiB × lanes of the process"
            ))
    }
}
