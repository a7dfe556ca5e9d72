internal import Cryptography
internal import LiveActivity

/// Whether a report's user is who the report says, by the app's secrets. Pinned to one thread.
final class UserProofCheck {
    private struct Opened {
        let proof: UserProof
        /// Nil when not all of them open.
        let secrets: [HMACSHA256]?
    }

    private let seal: TokenSeal
    /// By app; a few hundred bytes each, and never more than there are apps with secrets.
    private var opened: [String: Opened] = [:]
    private static let appsMax = 1000

    init(_ seal: TokenSeal) { self.seal = seal }

    enum Verdict { case good, missing, wrong, impossible }

    // What each asks for, as it goes on after the field's name.
    static let missing =
        "needs a userProof in this app: the hex HMAC-SHA256 of the user id, which your server makes"
    static let wrong =
        "must be the hex HMAC-SHA256 of the user id by a secret that `flotilla apps user-proof` has made"
    static let impossible = "cannot be checked: this gateway's sealing keys do not open the secrets"

    /// - Parameters:
    ///   - proof: HMAC-SHA256 of the user id's bytes, in hexadecimal; nil when none came.
    ///   - isTrusted: it comes from the app's own server, whose key is proof enough.
    func verdict(on user: String, proof: String?, for app: App, isTrusted: Bool) -> Verdict {
        guard let required = app.userProof, !required.secrets.isEmpty else { return .good }
        guard let proof else { return required.isRequired && !isTrusted ? .missing : .good }
        guard let secrets = secrets(of: app, required) else { return .impossible }
        guard let presented = Hex.decode(proof.utf8), presented.count == HMACSHA256.bytes else {
            return .wrong
        }
        var isGood = false
        // All are compared, so that the time says nothing of which it was.
        for secret in secrets where equalInConstantTime(secret.code(for: Array(user.utf8)), presented) {
            isGood = true
        }
        return isGood ? .good : .wrong
    }

    private func secrets(of app: App, _ proof: UserProof) -> [HMACSHA256]? {
        if let known = opened[app.id], known.proof == proof { return known.secrets }
        var secrets: [HMACSHA256]? = []
        for secret in proof.secrets {
            let bytes = try? seal.open(secret: secret.sealed, app: app.id, name: UserProof.secretName)
            secrets = bytes.flatMap { bytes in secrets.map { $0 + [HMACSHA256(key: bytes)] } }
        }
        if opened.count >= Self.appsMax { opened.removeAll() }
        opened[app.id] = Opened(proof: proof, secrets: secrets)
        return secrets
    }
}
