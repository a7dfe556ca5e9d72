import CatalogRecords
import Cryptography
import Foundation
import HTTPServer
import Identifiers
import InstallationRecords
import JSON
import RecordFormat
import Testing
import TokenSealing

@testable import Gateway

/// The app's own server. Only this server and Flotilla have the secret.
private func proof(of user: String, by secret: String) -> String {
    Hex.text(
        of: HMACSHA256(key: SecretBytes(copying: Array(secret.utf8))).authenticationCode(
            for: Array(user.utf8)))
}

private func makeKeys() throws -> SealingKeys {
    let path = NSTemporaryDirectory() + "keys-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    _ = FileManager.default.createFile(
        atPath: path, contents: Data(SealingKeys.makeText().utf8), attributes: [.posixPermissions: 0o600])
    return try SealingKeys(file: path)
}

private func app(_ keys: SealingKeys, _ secrets: [String], isRequired: Bool) -> App {
    var app = shop
    let seal = TokenSeal(keys: keys)
    let sealed = secrets.enumerated().map { index, secret in
        UserProofSettings.Secret(
            createdAt: Int64(index),
            sealed: seal.seal(secret: Array(secret.utf8), app: "shop", name: UserProofSettings.secretName)
                ?? "")
    }
    app.userProof = UserProofSettings(isRequired: isRequired, secrets: sealed)
    return app
}

/// Returns the fields that a report about a user is refused for.
private func refused(
    _ judge: ReportValidator, _ app: App, _ user: String, _ proof: String?, as role: APIKey.Role = .report
) throws -> [String] {
    let more = proof.map { #","userProof":"\#($0)""# } ?? ""
    let body = heartbeat(#","userId":"\#(user)""# + more)
    let judged = try judge.validate(Array(body.utf8), for: app, role: role)
    #expect(judged.acceptedCount + judged.refused.count == 1)
    if judged.acceptedCount == 1 {
        let value = String(decoding: judged.copyRecord(at: 0).value, as: UTF8.self)
        #expect(value.contains(#""userId":"\#(user)""#) && !value.contains("userProof"))
    }
    return judged.refused.flatMap { $0.problems.map(\.path) }
}

struct UserProofSettingsTests {
    @Test func `a report may name a user if the user's proof is right`() throws {
        let keys = try makeKeys()
        let judge = ReportValidator(sealingKeys: keys)
        let app = app(keys, ["s1"], isRequired: true)
        #expect(try refused(judge, app, "ann", proof(of: "ann", by: "s1")) == [])
        #expect(try refused(judge, app, "ann", proof(of: "ann", by: "s1").uppercased()) == [])
        #expect(try refused(judge, app, "bob", proof(of: "ann", by: "s1")) == ["userProof"])
        #expect(try refused(judge, app, "ann", proof(of: "ann", by: "s2")) == ["userProof"])
        for text in ["", "00", "zz", String(repeating: "0", count: 64), String(repeating: "0", count: 4096)] {
            #expect(try refused(judge, app, "ann", text) == ["userProof"], "\(text)")
        }
        #expect(try refused(judge, app, "ann", nil) == ["userId"])
        // A logout and other reports name no user, so they need no proof.
        for text in [heartbeat(#","userId":null"#), heartbeat(), heartbeat(#","userProof":"00""#)] {
            #expect(try judge.validate(Array(text.utf8), for: app, role: .report).acceptedCount == 1)
        }
    }

    @Test func `an optional proof must be right if it is present`() throws {
        let keys = try makeKeys()
        let judge = ReportValidator(sealingKeys: keys)
        let app = app(keys, ["s1"], isRequired: false)
        #expect(try refused(judge, app, "ann", nil) == [])
        #expect(try refused(judge, app, "ann", proof(of: "ann", by: "s1")) == [])
        #expect(try refused(judge, app, "ann", proof(of: "bob", by: "s1")) == ["userProof"])
        // Servers may send proofs before the app has a secret.
        #expect(try refused(judge, shop, "ann", "anything") == [])
    }

    @Test func `during a rotation both secrets are valid, and a retired one is not`() throws {
        let keys = try makeKeys()
        let judge = ReportValidator(sealingKeys: keys)
        let (old, both, new) = (["s1"], ["s1", "s2"], ["s2"])
        for (secrets, good) in [(old, ["s1"]), (both, ["s1", "s2"]), (new, ["s2"])] {
            let app = app(keys, secrets, isRequired: true)
            for secret in ["s1", "s2"] {
                let expected = good.contains(secret) ? [] : ["userProof"]
                #expect(try refused(judge, app, "ann", proof(of: "ann", by: secret)) == expected)
            }
        }
    }

    @Test func `the app's own server needs no proof, but a wrong one is refused`() throws {
        let keys = try makeKeys()
        let judge = ReportValidator(sealingKeys: keys)
        let app = app(keys, ["s1"], isRequired: true)
        for role in [APIKey.Role.send, .admin] {
            #expect(try refused(judge, app, "ann", nil, as: role) == [])
            #expect(try refused(judge, app, "ann", proof(of: "bob", by: "s1"), as: role) == ["userProof"])
        }
    }

    @Test func `a phone schedules and cancels for its own user, the app's server for all`() throws {
        let keys = try makeKeys()
        var judged = JudgedSends()
        judged.app = app(keys, ["s1"], isRequired: true)
        judged.keys = keys
        let decision = ScheduleDecider(lanes: 4)
        func refused(_ proof: String?, as role: APIKey.Role) -> [String] {
            let more = proof.map { #","userProof":"\#($0)""# } ?? ""
            let body = #"{"user":"ann","activity":"a","offset":1,"customData":{}\#(more)}"#
            var headers: HTTPHeaders = [:]
            if let proof { headers.add("User-Proof", value: proof) }
            let query = [(name: "user", value: "ann"), (name: "activity", value: "a")]
            var fields: [String] = []
            do {
                _ = try decision.schedule(in: judged.context(body, as: role))
                _ = try decision.cancel(in: judged.context("", headers: headers, query: query, as: role))
            } catch { fields = error.problems.map { "\($0.field) \($0.code)" } }
            return fields
        }
        #expect(refused(proof(of: "ann", by: "s1"), as: .report) == [])
        #expect(refused(nil, as: .report) == ["userProof user_proof_missing"])
        #expect(refused(proof(of: "bob", by: "s1"), as: .report) == ["userProof user_proof_wrong"])
        #expect(refused(nil, as: .send) == [])
        #expect(refused(proof(of: "bob", by: "s1"), as: .send) == ["userProof user_proof_wrong"])
        let query = [(name: "user", value: "ann"), (name: "id", value: "i")]
        #expect(throws: RefusedRequest.self) {
            _ = try decision.cancel(in: judged.context("", query: query, as: .report))
        }
    }

    @Test func `a gateway that cannot open the secrets accepts no user`() throws {
        let keys = try makeKeys()
        let app = app(keys, ["s1"], isRequired: true)
        for judge in [ReportValidator(sealingKeys: nil), ReportValidator(sealingKeys: try makeKeys())] {
            #expect(try refused(judge, app, "ann", proof(of: "ann", by: "s1")) == ["userProof"])
            #expect(try refused(judge, app, "ann", nil) == ["userId"])
        }
        // A secret that is sealed for one app cannot be used in another app.
        var other = app
        other.id = "bank"
        let body =
            #"{"environment":"production","installationId":"i","kind":"heartbeat","userId":"ann","userProof":"\#(proof(of: "ann", by: "s1"))"}"#
        #expect(
            try ReportValidator(sealingKeys: keys).validate(Array(body.utf8), for: other, role: .report)
                .acceptedCount == 0)
    }

    @Test func `secrets in the catalog can be read back but never appear in clear text`() throws {
        let keys = try makeKeys()
        let app = app(keys, ["s1s1s1s1", "s2s2s2s2"], isRequired: true)
        let text = String(decoding: app.encoded(), as: UTF8.self)
        #expect(!text.contains("s1s1s1s1"))
        #expect(try App.decode(app.encoded(), with: JSONReader()) == app)
        #expect(
            TokenSeal(keys: nil).seal(secret: [1], app: "shop", name: UserProofSettings.secretName) == nil)
    }
}

@Test func `with keys a report's token leaves the gateway sealed`() throws {
    let keys = try makeKeys()
    let body = heartbeat().replacingOccurrences(of: "heartbeat", with: "startToken")
        .replacingOccurrences(
            of: #""startToken""#, with: #""startToken","attributesType":"Match","token":"C0FFEE""#)
    let (_, value) = try ReportValidator(sealingKeys: keys).validate(
        Array(body.utf8), for: shop, role: .report
    ).copyRecord(at: 0)
    #expect(!String(decoding: value, as: UTF8.self).lowercased().contains("c0ffee"))
    let report = try Report.decode(value, with: JSONReader())
    #expect(report.isTokenSealed)
    #expect(try TokenSeal(keys: keys).open(tokenOf: report) == PushToken(hex: "c0ffee"))
}

@Test func `unknown fields of a newer SDK version are dropped, and its report is accepted`() throws {
    #expect(verdicts(heartbeat(#","v":2,"colour":"red""#)) == ["accepted"])
    #expect(verdicts(heartbeat(#","v":1,"colour":"red""#)) == ["0 colour unknown_field"])
    #expect(verdicts(heartbeat(#","colour":"red""#)) == ["0 colour unknown_field"])
    #expect(verdicts(heartbeat(#","v":2,"environment":"x""#)).allSatisfy { $0 != "accepted" })
    let body = Array(heartbeat(#","v":2,"colour":"red""#).utf8)
    let value = try ReportValidator(sealingKeys: nil).validate(body, for: shop, role: .report).copyRecord(
        at: 0
    ).value
    #expect(try Report.decode(value, with: JSONReader()).kind == .heartbeat)
    #expect(!String(decoding: value, as: UTF8.self).contains("colour"))
}
