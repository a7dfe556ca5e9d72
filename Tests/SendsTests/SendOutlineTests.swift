import Identifiers
import JSON
import Payloads
import RecordFormat
import Sends
import Testing

/// The outline of a send: the facts that lists of sends show.
struct SendOutlineTests {
    private func send(_ audience: Audience, content: String = #"{"home":1}"#) throws -> Send {
        var pushContent = PushContent(.update)
        pushContent.contentState = try RawJSON(checking: Array(content.utf8), with: JSONReader())
        var send = Send(
            id: "r-1", app: "shop", group: "match", audience: audience, content: pushContent,
            priority: .immediate, acceptedAt: 5)
        send.author = "key-1"
        return send
    }

    private func record(of send: Send) throws -> ProgressRecord {
        var part = ProgressRecord.PlannerPart(.planned, version: 7, laneCount: 2)
        part.outline = SendOutline(of: send)
        return ProgressRecord(
            send: send.id, key: try #require(send.scopeKey), isDryRun: false, acceptedAt: 5, writtenAt: 6,
            part: .planner(part))
    }

    @Test(arguments: [
        Audience.everyone, .group, .segments(["a"]), .tags(["a", "b"]),
        .users(["ann", "bob", "carl", "dora"]),
        .activities(["x"]),
    ])
    func `a verdict with its outline reads back`(audience: Audience) throws {
        let record = try record(of: send(audience))
        #expect(try ProgressRecord.decode(record.encoded(), with: JSONReader()) == record)
        var progress = SendProgress(id: "r-1")
        progress.add(record)
        #expect(progress.outline == SendOutline(of: try send(audience)))
    }

    @Test func `an outline has the first names, and counts them all`() throws {
        let names = (0..<9).map { "user-\($0)" }
        let outline = SendOutline(of: try send(.users(names)))
        #expect(outline.audience.names == ["user-0", "user-1", "user-2"] && outline.audience.nameCount == 9)
        #expect(outline.audience.kind == .users && outline.author == "key-1" && outline.event == .update)
    }

    @Test func `a long content is left out`() throws {
        func outline(contentBytes: Int) throws -> SendOutline {
            let text = String(repeating: "a", count: contentBytes - #"{"t":""}"#.utf8.count)
            return SendOutline(of: try send(.group, content: #"{"t":"\#(text)"}"#))
        }
        #expect(try outline(contentBytes: SendOutline.contentBytesMax).contentState != nil)
        #expect(try outline(contentBytes: SendOutline.contentBytesMax + 1).contentState == nil)
    }

    @Test func `a start has its attributes, unless they are long`() throws {
        func outline(attributeBytes: Int) throws -> SendOutline {
            var start = try send(.everyone)
            let text = String(repeating: "a", count: attributeBytes - #"{"home":""}"#.utf8.count)
            start.content.attributes = try RawJSON(
                checking: Array(#"{"home":"\#(text)"}"#.utf8), with: JSONReader())
            let record = try record(of: start)
            #expect(try ProgressRecord.decode(record.encoded(), with: JSONReader()) == record)
            return SendOutline(of: start)
        }
        #expect(try outline(attributeBytes: SendOutline.contentBytesMax).attributes != nil)
        #expect(try outline(attributeBytes: SendOutline.contentBytesMax + 1).attributes == nil)
    }

    @Test func `a later verdict without an outline keeps the known one`() throws {
        var progress = SendProgress(id: "r-1")
        progress.add(try record(of: send(.group)))
        var later = try record(of: send(.group))
        later.part = .planner(ProgressRecord.PlannerPart(.stopping))
        progress.add(later)
        #expect(progress.outline?.author == "key-1")
    }
}
