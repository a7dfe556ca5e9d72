import APNs
import Cryptography
import ProcessTesting
import Testing

@testable import APNsSimulator

/// Requests of the journal as a reader gets them, and the ids of pushes.
struct RecordedRequestTests {
    @Test func `a reader gets the request as it was sent, without the signature`() async throws {
        let journal = RecordedEntries()
        let subject = try RunningSimulator(journal: journal)
        let bearer = subject.makeProviderToken()
        let signature = try #require(bearer.split(separator: ".").last)
        let client = subject.client()
        let request = TestRequest.push(bearer).adding("x-mine", "ü")
        #expect(await client.send(request).status == 200)
        #expect(await client.send(request.adding("authorization", "bearer other.\(signature)")).status == 400)
        #expect(await client.send(request.setting("authorization", "\(signature)")).status == 403)
        #expect(await client.send(request.with(method: "PUT").at("/x").with(body: "")).status == 404)
        try await eventually("all entries") { journal.entries.count == 4 }
        for (index, entry) in journal.entries.enumerated() {
            let record = entry.request
            #expect(record.method == (index == 3 ? "PUT" : "POST"))
            #expect(record.path == (index == 3 ? "/x" : request.path))
            let body = index == 3 ? "" : request.body
            #expect(record.bodyByteCount == body.utf8.count)
            #expect(record.bodyHash == SHA256.digest(of: Array(body.utf8)))
            let others = record.headers.filter { $0.name != "authorization" }.map { [$0.name, $0.value] }
            for (name, value) in request.headers where name != "authorization" {
                #expect(others.contains([name, value]), "\(name) of request \(index)")
            }
            let memory = String(decoding: Mirror(reflecting: record).allBytes, as: UTF8.self)
            #expect(!memory.contains(signature) && memory.contains("apns-topic"))
        }
        let shown = journal.entries.map { entry in
            entry.request.headers.filter { $0.name == "authorization" }.map(\.value)
        }
        let claims = bearer.dropLast(signature.count)
        #expect(
            shown == [
                ["bearer \(claims)…"], ["bearer \(claims)…", "bearer other.…"], [""], ["bearer \(claims)…"],
            ])
    }

    @Test func `an id is parsed only from its canonical text, and written the same`() {
        let text = "eabeae54-14a8-11e5-b60b-1697f925ec7b"
        #expect(PushID(canonical: text)?.description == text)
        #expect(PushID(canonical: text)?.withText { ASCIIText.string(from: $0) } == text)
        for wrong in [
            "", text.uppercased(), String(text.dropLast()), text + "0", text.replacing("-", with: "0"),
            "eabeae5-414a8-11e5-b60b-1697f925ec7b", "gabeae54-14a8-11e5-b60b-1697f925ec7b",
        ] {
            #expect(PushID(canonical: wrong) == nil, "\(wrong)")
        }
        var ids = RequestIDGenerator()
        let made = (0..<1_000).map { _ in ids.next().description }
        #expect(Set(made).count == 1_000)
        #expect(made.allSatisfy { PushID(canonical: $0) != nil && $0.contains(/^.{14}4.{4}[89ab]/) })
    }
}

extension Mirror {
    /// The bytes of all arrays inside the value.
    fileprivate var allBytes: [UInt8] {
        children.flatMap { child in
            child.value as? [UInt8] ?? Mirror(reflecting: child.value).allBytes
        }
    }
}
