import Foundation
import Glibc
import Ingest
import IngestTesting
import Kafka
import KafkaTesting
import ProcessTesting
import Telemetry
import Testing
import Topics

/// Tests of the opening of views after an assignment. It can take long, and the member must poll the group meanwhile.
@Suite struct ViewOpeningTests {
    /// A view file is read completely before it is trusted. The reading takes time, and each partition has a file.
    @Test func `views that open slowly do not keep the member from polling`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        let path = directory.filePath(named: "log")
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let file = try #require(FileHandle(forWritingAtPath: path))
        let sink = LogSink(level: .debug, format: .text, descriptor: file.fileDescriptor)
        let stage = try await Stage(
            bed, directory: directory.path, log: Log(component: "ingest", sink: sink),
            onStep: { step, _ in
                // Four of these delays are longer than the session timeout.
                if step == .viewOpened { usleep(1_500_000) }
            })
        try await eventually("the stage is ready") { stage.readinessProblems.isEmpty || stage.failure != nil }
        await stage.stop()
        #expect(stage.failure == nil)
        sink.flush(withinMilliseconds: 5000)
        let log = try String(contentsOfFile: path, encoding: .utf8)
        #expect(log.components(separatedBy: "view opened").count - 1 == 4, "\(log)")
        #expect(!log.contains("this process was stopped for a while"), "\(log)")
    }
}
