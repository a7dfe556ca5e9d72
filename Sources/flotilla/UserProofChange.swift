internal import Catalog
internal import Cryptography
internal import JSON
internal import Lifecycle
internal import LiveActivity
internal import Telemetry

/// `flotilla apps user-proof APP`: the secrets by which an app's own server proves who a user is.
struct UserProofChange {
    static let options: [(flag: String, takesValue: Bool, sentence: String)] = [
        ("--new", false, "user-proof: makes a secret and prints it, once; the one before it holds on"),
        ("--retire", false, "user-proof: the older of two secrets holds no more"),
        ("--require", true, "user-proof: yes refuses a phone's report that names a user without a proof"),
        ("--off", false, "user-proof: with --yes forgets the secrets, and no report needs a proof"),
    ]

    private let invocation: Invocation
    private let app: App
    private let catalog: CatalogAccess

    init(_ invocation: Invocation, of app: App, in catalog: CatalogAccess) throws {
        (self.invocation, self.app, self.catalog) = (invocation, app, catalog)
    }

    private func isAsked(_ flag: String) -> Bool { invocation.options[flag] != nil }

    func run() throws {
        let asked = ["--new", "--retire", "--off"].filter(isAsked)
        guard asked.count <= 1 else {
            throw Refusal(status: .usage, "say one of --new, --retire and --off at a time")
        }
        var changed = app
        var made: String?
        switch asked.first {
        case "--new": made = try addSecret(to: &changed)
        case "--retire": try retire(in: &changed)
        case "--off": try forget(in: &changed)
        default: break
        }
        if let word = invocation.options["--require"] { try require(word, in: &changed) }
        if changed != app { try catalog.writer().put(changed, action: "app.user-proof", now: .now()) }
        show(changed, made: made)
    }

    private func addSecret(to app: inout App) throws -> String {
        guard let keys = try SealingKeyFile.read(invocation.settings, for: catalog.catalog) else {
            throw Refusal(
                status: .configuration,
                "the secret must be known to every gateway and would stand in the catalogue for all to read; make sealing keys, give them to every process, and name their file with tokens.sealing-keys-file"
            )
        }
        var proof = app.userProof ?? UserProof(isRequired: false, secrets: [])
        guard proof.secrets.count < UserProof.secretsMax else {
            throw Refusal(
                status: .usage, "there are two secrets already; --retire the older one when no server uses it"
            )
        }
        let secret = Hex.text(Random.bytes(UserProof.secretBytes))
        // What a server has is the text, and the text's bytes are the key: no language decodes it wrongly.
        let sealed = TokenSeal(keys).seal(
            secret: Array(secret.utf8), app: app.id, name: UserProof.secretName)
        guard let sealed else { throw Refusal(status: .configuration, "the sealing keys seal nothing") }
        proof.secrets.append(.init(createdAt: WallTime.now().milliseconds, sealed: sealed))
        app.userProof = proof
        return secret
    }

    private func retire(in app: inout App) throws {
        guard app.userProof?.secrets.count == UserProof.secretsMax else {
            throw Refusal(status: .usage, "there is no older secret; --new makes the next one first")
        }
        app.userProof?.secrets.removeFirst()
    }

    private func forget(in app: inout App) throws {
        guard isAsked("--yes") else {
            throw Refusal(
                status: .usage,
                "without secrets whoever has a report key can say that a phone is any user's; say --yes")
        }
        app.userProof = nil
    }

    private func require(_ word: String, in app: inout App) throws {
        guard word == "yes" || word == "no" else {
            throw Refusal(status: .usage, "--require takes yes or no")
        }
        guard app.userProof != nil else {
            throw Refusal(status: .usage, "there is no secret yet; --new makes one")
        }
        app.userProof?.isRequired = word == "yes"
    }

    private func show(_ app: App, made: String?) {
        let proof = app.userProof
        if isAsked("--json") {
            var line = JSONLine()
            line.field("app", app.id)
            line.field("required", proof?.isRequired == true ? "yes" : "no")
            line.field("secrets", Int64(proof?.secrets.count ?? 0))
            if let made { line.field("secret", made) }
            print(line.text)
        } else if let made {
            // Alone, for `SECRET=$(flotilla apps user-proof shop --new)`.
            print(made)
        } else if let proof {
            let times = proof.secrets.map { WallTime(milliseconds: $0.createdAt).rfc3339 }
            print("\(app.id): \(times.count) secrets, made \(times.joined(separator: " and "))")
            print(
                proof.isRequired
                    ? "a report that names a user needs a proof" : "a proof is checked where there is one")
        } else {
            print("\(app.id) has no secret: whoever has a report key can say that a phone is any user's")
        }
    }
}
