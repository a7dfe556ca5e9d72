import CatalogRecords
import Cryptography
import Foundation
import HTTPServer
import Identifiers
import InstallationRecords
import JSON
import RecordFormat
import Telemetry
import Testing
import TokenSealing

@testable import Gateway

/// Returns the proof that the app's own server makes. Only this server and Flotilla have the secret.
private func proof(of user: String, by secret: String) -> String {
    Hex.text(
        of: HMACSHA256(key: SecretBytes(copying: Array(secret.utf8))).authenticationCode(
            for: Array(user.utf8)))
}

/// Makes new sealing keys. Their file is removed at once.
func makeKeys() throws -> SealingKeys {
    let path = NSTemporaryDirectory() + "keys-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    _ = FileManager.default.createFile(
        atPath: path, contents: Data(SealingKeys.makeText().utf8), attributes: [.posixPermissions: 0o600])
    return try SealingKeys(file: path)
}

/// Makes an app whose secrets are sealed with the keys.
private func makeApp(
    secrets: [String], sealedWith keys: SealingKeys, requirement: UserProofSettings.Requirement
) -> App {
    var app = shop
    let seal = TokenSeal(keys: keys)
    let sealed = secrets.enumerated().map { index, secret in
        UserProofSettings.Secret(
            createdAt: Int64(index),
            sealed: seal.seal(secret: Array(secret.utf8), app: "shop", name: UserProofSettings.secretName)
                ?? "")
    }
    app.userProof = UserProofSettings(requirement: requirement, secrets: sealed)
    return app
}

/// Returns the fields for which a report about a user is refused.
private func problemPaths(
    ofReportBy user: String, proof: String?, to app: App, by validator: ReportValidator,
    as role: APIKey.Role = .report
) throws -> [String] {
    let proofField = proof.map { #","userProof":"\#($0)""# } ?? ""
    let body = heartbeat(#","userId":"\#(user)""# + proofField)
    let result = try validator.validate(Array(body.utf8), for: app, role: role)
    #expect(result.acceptedCount + result.refused.count == 1)
    if result.acceptedCount == 1 {
        let value = String(decoding: result.copyRecord(at: 0).value, as: UTF8.self)
        #expect(value.contains(#""userId":"\#(user)""#) && !value.contains("userProof"))
    }
    return result.refused.flatMap { $0.problems.map(\.path) }
}

/// Proofs that a report or a schedule may name its user: an HMAC of the user with a secret of the app. The apps of the
/// tests have the secrets `s1` or `s2`, and the users are ann and bob.
struct UserProofTests {
    @Test func `a report may name a user if the user's proof is right`() throws {
        let keys = try makeKeys()
        let validator = ReportValidator(sealingKeys: keys)
        let app = makeApp(secrets: ["s1"], sealedWith: keys, requirement: .any)
        #expect(
            try problemPaths(ofReportBy: "ann", proof: proof(of: "ann", by: "s1"), to: app, by: validator)
                == [])
        #expect(
            try problemPaths(
                ofReportBy: "ann", proof: proof(of: "ann", by: "s1").uppercased(), to: app, by: validator)
                == [])
        #expect(
            try problemPaths(ofReportBy: "bob", proof: proof(of: "ann", by: "s1"), to: app, by: validator)
                == ["userProof"])
        #expect(
            try problemPaths(ofReportBy: "ann", proof: proof(of: "ann", by: "s2"), to: app, by: validator)
                == ["userProof"])
        for wrongProof in [
            "", "00", "zz", String(repeating: "0", count: 64), String(repeating: "0", count: 4096),
        ] {
            #expect(
                try problemPaths(ofReportBy: "ann", proof: wrongProof, to: app, by: validator) == [
                    "userProof"
                ], "\(wrongProof)")
        }
        #expect(try problemPaths(ofReportBy: "ann", proof: nil, to: app, by: validator) == ["userId"])
        // A logout and other reports name no user, so they need no proof.
        for text in [heartbeat(#","userId":null"#), heartbeat(), heartbeat(#","userProof":"00""#)] {
            #expect(try validator.validate(Array(text.utf8), for: app, role: .report).acceptedCount == 1)
        }
    }

    @Test func `a proof that expires is valid on its installation only, and until its expiry`() throws {
        let keys = try makeKeys()
        let now = WallTime(milliseconds: 1_800_000_000_999)
        let validator = ReportValidator(sealingKeys: keys, now: { now })
        let app = makeApp(secrets: ["s1"], sealedWith: keys, requirement: .expiring)
        /// Returns the problems of a report of the installation `i1`.
        func problems(with proof: String?, as role: APIKey.Role = .report) throws -> [String] {
            let proofField = proof.map { #","userProof":"\#($0)""# } ?? ""
            let body = heartbeat(#","userId":"ann""# + proofField)
            return try validator.validate(Array(body.utf8), for: app, role: role).refused
                .flatMap { $0.problems.map(\.message) }
        }
        func expiring(_ seconds: Int64, installation: String, user: String = "ann") -> String {
            "\(seconds).\(proof(of: "\(seconds)\n\(installation)\n\(user)", by: "s1")).\(installation)"
        }
        let installation = "i1"
        #expect(try problems(with: expiring(1_800_000_001, installation: installation)) == [])
        let expired = try problems(with: expiring(1_800_000_000, installation: installation))
        #expect(expired == [UserProofCheck.ProofVerdict.expired.problem?.message])
        let foreign = try problems(with: expiring(1_800_000_001, installation: "other"))
        #expect(foreign == [UserProofCheck.ProofVerdict.ofOtherInstallation.problem?.message])
        let simple = proof(of: "ann", by: "s1")
        #expect(try problems(with: simple) == [UserProofCheck.ProofVerdict.withoutExpiry.problem?.message])
        #expect(try problems(with: simple, as: .send) == [])
        #expect(try problems(with: nil) == [UserProofCheck.ProofVerdict.missing.problem?.message])
        let good = expiring(1_800_000_001, installation: installation)
        let forgeries = [
            expiring(1_800_000_001, installation: installation, user: "bob"),
            // A later expiry, or another installation, with the code of a good proof.
            "1900000000" + good.dropFirst(10), good + "b", good.replacing(".i1", with: "."),
            String(good.dropFirst()), "." + good, "9999999999999" + good.dropFirst(10),
        ]
        for forgery in forgeries {
            #expect(
                try problems(with: forgery) == [UserProofCheck.ProofVerdict.wrong.problem?.message],
                "\(forgery)")
        }
    }

    @Test func `an optional proof must be right if it is present`() throws {
        let keys = try makeKeys()
        let validator = ReportValidator(sealingKeys: keys)
        let app = makeApp(secrets: ["s1"], sealedWith: keys, requirement: .optional)
        #expect(try problemPaths(ofReportBy: "ann", proof: nil, to: app, by: validator) == [])
        #expect(
            try problemPaths(ofReportBy: "ann", proof: proof(of: "ann", by: "s1"), to: app, by: validator)
                == [])
        #expect(
            try problemPaths(ofReportBy: "ann", proof: proof(of: "bob", by: "s1"), to: app, by: validator)
                == ["userProof"])
        // Servers may send proofs before the app has a secret.
        #expect(try problemPaths(ofReportBy: "ann", proof: "anything", to: shop, by: validator) == [])
    }

    @Test func `during a rotation both secrets are valid, and a retired one is not`() throws {
        let keys = try makeKeys()
        let validator = ReportValidator(sealingKeys: keys)
        // Before, during and after a rotation.
        for secrets in [["s1"], ["s1", "s2"], ["s2"]] {
            let app = makeApp(secrets: secrets, sealedWith: keys, requirement: .any)
            for secret in ["s1", "s2"] {
                let expected = secrets.contains(secret) ? [] : ["userProof"]
                #expect(
                    try problemPaths(
                        ofReportBy: "ann", proof: proof(of: "ann", by: secret), to: app, by: validator)
                        == expected)
            }
        }
    }

    @Test func `the app's own server needs no proof, but a wrong one is refused`() throws {
        let keys = try makeKeys()
        let validator = ReportValidator(sealingKeys: keys)
        let app = makeApp(secrets: ["s1"], sealedWith: keys, requirement: .any)
        for role in [APIKey.Role.send, .admin] {
            #expect(try problemPaths(ofReportBy: "ann", proof: nil, to: app, by: validator, as: role) == [])
            #expect(
                try problemPaths(
                    ofReportBy: "ann", proof: proof(of: "bob", by: "s1"), to: app, by: validator, as: role)
                    == ["userProof"])
        }
    }

    @Test func `a phone schedules and cancels for its own user, the app's server for all`() throws {
        let keys = try makeKeys()
        var fixture = DeciderFixture()
        fixture.app = makeApp(secrets: ["s1"], sealedWith: keys, requirement: .any)
        fixture.keys = keys
        let decider = ScheduleDecider(lanes: 4)
        func problemCodes(_ request: () throws(RefusedRequest) -> RequestDecision) -> [String] {
            do throws(RefusedRequest) {
                _ = try request()
                return []
            } catch { return error.problems.map(\.code) }
        }
        func problemsOfSchedule(proof: String?, as role: APIKey.Role) -> [String] {
            let proofField = proof.map { #","userProof":"\#($0)""# } ?? ""
            let body = #"{"user":"ann","activity":"a","offset":1,"customData":{}\#(proofField)}"#
            return problemCodes { () throws(RefusedRequest) in
                try decider.schedule(in: fixture.context(body, as: role))
            }
        }
        /// - Parameter selected: The query parameter that selects the schedules.
        func problemsOfCancel(
            proof: String?, as role: APIKey.Role, selecting selected: String = "activity"
        ) -> [String] {
            var headers: HTTPHeaders = [:]
            if let proof { headers.add("User-Proof", value: proof) }
            let query = [(name: "user", value: "ann"), (name: selected, value: "a")]
            return problemCodes { () throws(RefusedRequest) in
                try decider.cancel(in: fixture.context("", headers: headers, query: query, as: role))
            }
        }
        let (right, wrong) = (proof(of: "ann", by: "s1"), proof(of: "bob", by: "s1"))
        let calls: [(String?, APIKey.Role) -> [String]] = [
            { problemsOfSchedule(proof: $0, as: $1) }, { problemsOfCancel(proof: $0, as: $1) },
        ]
        for problems in calls {
            #expect(problems(right, .report) == [])
            #expect(problems(nil, .report) == ["user_proof_missing"])
            #expect(problems(wrong, .report) == ["user_proof_wrong"])
            #expect(problems(nil, .send) == [])
            #expect(problems(wrong, .send) == ["user_proof_wrong"])
        }
        #expect(problemsOfCancel(proof: nil, as: .report, selecting: "id") == ["user_proof_missing"])
    }

    @Test func `a gateway that cannot open the secrets accepts no user`() throws {
        let keys = try makeKeys()
        let app = makeApp(secrets: ["s1"], sealedWith: keys, requirement: .any)
        for validator in [ReportValidator(sealingKeys: nil), ReportValidator(sealingKeys: try makeKeys())] {
            #expect(
                try problemPaths(ofReportBy: "ann", proof: proof(of: "ann", by: "s1"), to: app, by: validator)
                    == ["userProof"])
            #expect(try problemPaths(ofReportBy: "ann", proof: nil, to: app, by: validator) == ["userId"])
        }
    }

    @Test func `a secret that is sealed for one app cannot be used in another app`() throws {
        let keys = try makeKeys()
        var app = makeApp(secrets: ["s1"], sealedWith: keys, requirement: .any)
        app.id = "bank"
        let body = heartbeat(#","userId":"ann","userProof":"\#(proof(of: "ann", by: "s1"))""#)
        #expect(
            try ReportValidator(sealingKeys: keys).validate(Array(body.utf8), for: app, role: .report)
                .acceptedCount == 0)
    }

    @Test func `secrets in the catalog can be read back but never appear in clear text`() throws {
        let keys = try makeKeys()
        let app = makeApp(secrets: ["s1s1s1s1", "s2s2s2s2"], sealedWith: keys, requirement: .any)
        let text = String(decoding: app.encoded(), as: UTF8.self)
        #expect(!text.contains("s1s1s1s1"))
        #expect(try App.decode(app.encoded(), with: JSONReader()) == app)
        #expect(
            TokenSeal(keys: nil).seal(secret: [1], app: "shop", name: UserProofSettings.secretName) == nil)
    }
}
