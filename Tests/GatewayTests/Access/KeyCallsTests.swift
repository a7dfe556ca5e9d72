import Catalog
import CatalogRecords
import Foundation
import HTTPServer
import JSON
import RecordFormat
import Telemetry
import Testing

@testable import Gateway

/// The decisions about API keys and about the app, without Kafka.
struct KeyCallsTests {
    private var fixture = DeciderFixture()

    private func context(_ body: String = "", id: String = "") -> RequestContext {
        var context = fixture.context(body, as: .admin)
        context.parameters = ["id": id]
        return context
    }

    /// Applies the change of a decision to the catalog, and returns the answer.
    @discardableResult
    private mutating func carryOut(_ decision: RequestDecision) throws -> [String: Any] {
        let answer: HTTPResponse
        switch decision {
        case .answer(let response): answer = response
        case .changeCatalog(let change, let response):
            answer = response
            #expect(
                fixture.catalog.apply(key: change.key, value: change.value, with: JSONReader()) == .changed)
        case .store, .askStage, .readCatalog: throw DeciderFixture.NotStored()
        }
        if answer.body.isEmpty { return ["status": answer.status] }
        let object = try #require(JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
        return object.merging(["status": answer.status]) { $1 }
    }

    /// Returns the problems of a call, each as `status field code`. A problem of the whole request has an empty field.
    private func problems(_ call: () throws -> RequestDecision) -> [String] {
        do {
            _ = try call()
            return []
        } catch let error as RefusedRequest {
            return error.problems.map { "\(error.status) \($0.field) \($0.code)" }
        } catch { return ["\(error)"] }
    }

    @Test mutating func `the text of a key is in the answer to its creation only`() throws {
        let body = #"{"role":"read","name":"dashboard","expiresAt":{"offset":60}}"#
        let created = try carryOut(KeyCalls.create(in: context(body)))
        let text = try #require(created["key"] as? String)
        let id = try #require(created["id"] as? String)
        #expect(created["status"] as? Int == 201 && created["name"] as? String == "dashboard")
        #expect(created["expiresAt"] as? Int64 == DeciderFixture.now.milliseconds + 60_000)
        let stored = try #require(fixture.catalog.keys[id])
        #expect(stored.app == "shop" && stored.role == .read)
        #expect(APIKeyText(text)?.secretHash == stored.secretHash)
        let secret = try #require(text.split(separator: "_").last)
        for answer in [
            try carryOut(KeyCalls.list(in: context())), try carryOut(KeyCalls.show(in: context(id: id))),
            try carryOut(KeyCalls.change(in: context(#"{"name":"board"}"#, id: id))),
            try carryOut(KeyCalls.revoke(in: context(id: id))),
        ] {
            #expect(!"\(answer)".contains(secret.dropLast(6)) && !"\(answer)".contains("secret"), "\(answer)")
        }
    }

    @Test mutating func `a key is changed, then revoked, then deleted from the list`() throws {
        let created = try carryOut(KeyCalls.create(in: context(#"{"role":"send"}"#)))
        let id = try #require(created["id"] as? String)
        let changed = try carryOut(KeyCalls.change(in: context(#"{"expiresAt":{"offset":3600}}"#, id: id)))
        #expect(changed["expiresAt"] as? Int64 == DeciderFixture.now.milliseconds + 3_600_000)
        let revoked = try carryOut(KeyCalls.revoke(in: context(id: id)))
        #expect(revoked["revokedAt"] as? Int64 == DeciderFixture.now.milliseconds)
        let key = try #require(fixture.catalog.keys[id])
        #expect(fixture.catalog.access(with: key, for: .send, now: DeciderFixture.now) == .revoked)
        #expect(
            problems { try KeyCalls.change(in: context(#"{"name":"x"}"#, id: id)) } == ["409  key_ended"])
        let deleted = try carryOut(KeyCalls.revoke(in: context(id: id)))
        #expect(deleted["status"] as? Int == 204 && fixture.catalog.keys.isEmpty)
    }

    @Test mutating func `a wrong body neither creates nor changes a key`() throws {
        func problemsOfCreation(_ body: String) -> [String] {
            problems { try KeyCalls.create(in: context(body)) }
        }
        #expect(problemsOfCreation("{}") == ["422 role missing"])
        #expect(problemsOfCreation(#"{"role":"owner"}"#) == ["422 role invalid"])
        #expect(problemsOfCreation(#"{"role":"read","expiresAt":1000}"#) == ["422 expiresAt out_of_range"])
        #expect(problemsOfCreation(#"{"role":"read","app":"bank"}"#) == ["422 app unknown_field"])
        let own = try carryOut(KeyCalls.create(in: context(#"{"role":"read"}"#)))
        let id = try #require(own["id"] as? String)
        #expect(problems { try KeyCalls.change(in: context("{}", id: id)) } == ["422 name invalid"])
    }

    @Test mutating func `a key of another app is unknown`() {
        let foreign = APIKeyText.makeKey(app: "bank", role: .admin, atMilliseconds: 0).record
        _ = fixture.catalog.apply(key: foreign.key, value: foreign.encoded(), with: JSONReader())
        #expect(problems { try KeyCalls.show(in: context(id: foreign.id)) } == ["404 id key_unknown"])
        #expect(problems { try KeyCalls.revoke(in: context(id: foreign.id)) } == ["404 id key_unknown"])
        #expect(
            problems { try KeyCalls.change(in: context(#"{"name":"x"}"#, id: foreign.id)) }
                == ["404 id key_unknown"])
    }

    @Test mutating func `an app that has the most keys gets no further one`() {
        for _ in 0..<KeyCalls.countPerAppMax {
            let key = APIKeyText.makeKey(app: "shop", role: .read, atMilliseconds: 0).record
            _ = fixture.catalog.apply(key: key.key, value: key.encoded(), with: JSONReader())
        }
        #expect(problems { try KeyCalls.create(in: context(#"{"role":"read"}"#)) } == ["409  too_many"])
    }

    @Test mutating func `the app can be read, changed and written back, and keeps its secrets`() throws {
        var app = fixture.app
        app.userProof = UserProofSettings(requirement: .any, secrets: [.init(createdAt: 1, sealed: "ab")])
        _ = fixture.catalog.apply(key: app.key, value: app.encoded(), with: JSONReader())
        fixture.app = app
        let shown = AppEndpoint.response(for: app)
        let text = String(decoding: shown.body, as: UTF8.self)
        #expect(!text.contains("userProof") && text.contains(#""bundleId":"com.example.shop""#))
        let changed = text.replacingOccurrences(of: "com.example.shop", with: "com.example.store")
        try carryOut(AppEndpoint.put(in: context(changed)))
        let stored = try #require(fixture.catalog.documents["shop"])
        #expect(stored.bundleID == "com.example.store" && stored.userProof == app.userProof)
        #expect(stored.activityTypes == app.activityTypes)
        let otherID = text.replacingOccurrences(of: #""id":"shop""#, with: #""id":"bank""#)
        #expect(problems { try AppEndpoint.put(in: context(otherID)) } == ["422 id invalid"])
        let withSecret = changed.dropLast() + #","p8":"-----BEGIN"}"#
        #expect(problems { try AppEndpoint.put(in: context(String(withSecret))) } == ["422 p8 invalid"])
    }
}
