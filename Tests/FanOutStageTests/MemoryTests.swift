import CatalogRecords
import FanOut
import FanOutTesting
import IngestTesting
import InstallationRecords
import JSON
import Kafka
import KafkaTesting
import Payloads
import ProcessTesting
import RecordFormat
import Sends
import Telemetry
import Testing
import Topics

/// The anonymous memory of fan-out stays below the bound that its settings give, with many phones and many groups.
@Suite struct MemoryTests {
    private static let lanes = TopicLayout.lanesDefault
    /// The phones of one large group. The start of all of them writes more rows than one page has.
    private static let phones = 20_000
    /// The groups of one phone each. Their updates fill the batches, the queues and the overlays.
    private static let groups = 3000
    /// The size of each content state: near the limit of a push.
    private static let stateBytes = 3000

    private let state: RawJSON

    init() throws {
        let padding = String(repeating: "n", count: Self.stateBytes)
        state = try RawJSON(checking: Array("{\"goals\":\"\(padding)\"}".utf8), with: JSONReader())
    }

    private func makeSend(_ event: PushEvent, to group: String, number: Int) -> Send {
        var content = PushContent(event)
        content.contentState = state
        if event == .start {
            content.attributesType = "Match"
            content.alert = Alert(title: .plain("Kick-off"))
        }
        return Send(
            id: "r-\(number)", app: TestBed.app.id, group: group,
            audience: event == .start ? .everyone : .group, content: content, priority: .immediate,
            acceptedAt: WallTime.now().milliseconds)
    }

    @Test func `many phones and many groups fit into the bound of the settings`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: Self.lanes)
        let directory = try TemporaryDirectory()
        let expanderBed = try ExpanderTestBed(on: bed)
        for number in 0..<Self.phones {
            expanderBed.writeToken(of: "phone-\(number)", entry: .start(type: "Match"))
        }
        for number in 0..<Self.groups {
            expanderBed.writeToken(
                of: "member-\(number)", entry: .update(activity: "a-\(number)"), group: "group-\(number)")
        }
        #expect(expanderBed.finish())
        let sends = try RecordWriter(on: bed, to: .sends)
        let written = Self.groups * 2 + 1
        for number in 0..<written {
            let send =
                number == 0
                ? makeSend(.start, to: "match", number: number)
                : makeSend(.update, to: "group-\(number % Self.groups)", number: number)
            sends.write(key: send.scopeKey?.bytes, value: send.encoded())
        }
        #expect(sends.finish())
        let process = try StageProcess(
            .fanOut, of: builtProductPath(named: "flotilla-bench"), on: bed, data: directory.path)
        let memory = PrivateMemorySampler(of: process.process.processID)
        try await eventually("every send is planned, and every lane has expanded its share", seconds: 400) {
            try #require(process.isRunning, "\(process.process.errors.suffix(600))")
            return bed.isEverythingRead(by: "planner", in: [.sends])
                && bed.isEverythingRead(by: "expander", in: [.expansions, .expansionsUrgent, .registry])
        }
        process.stop()
        #expect(try await process.process.exitStatus() == 0)
        let peak = memory.stop()
        print("private memory at most", peak, "MiB")
        #expect(peak <= FanOutSettings().anonymousBytesMax(lanes: Self.lanes) >> 20, "\(peak) MiB")
        let letters = try TopicContent(of: .deadLetters, in: bed).records
        #expect(letters.isEmpty)
    }

    @Test func `the page says the bound of the settings`() throws {
        let page = try Repository.text(of: "deploy/book/fan-out.md")
        let bound = FanOutSettings().anonymousBytesMax(lanes: 12) >> 20
        #expect(page.contains("With the defaults and 12 lanes that is \(bound) MiB."))
        // The formula of the page, applied to other settings. Each overlay has at most 24 MiB of rows.
        var settings = FanOutSettings()
        (settings.overlayRowsMax, settings.batchSendsMax) = (7000, 300)
        let formula = (496 << 20) + 512 * 7000 + (8 << 10) * 300 + (12 << 20) * 3
        #expect(settings.anonymousBytesMax(lanes: 3) == formula)
        #expect(
            page.contains(
                "496 MiB + 512 B × fan-out.overlay-rows + 8 KiB × fan-out.batch-sends + 12 MiB × lanes of the process"
            ))
    }
}
