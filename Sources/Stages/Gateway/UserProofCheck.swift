internal import Cryptography
internal import LiveActivity

/// The check of a report's user against the app's secrets. Confined to one thread.
final class UserProofCheck {
    private struct OpenedSecrets {
        let proof: UserProofSettings
        /// The opened secrets, or nil if not all of them can be opened.
        let secrets: [HMACSHA256]?
    }

    private let seal: TokenSeal
    /// Opened secrets by app, a few hundred bytes each. Only apps with secrets have an entry.
    private var opened: [String: OpenedSecrets] = [:]
    private static let appsMax = 1000

    init(seal: TokenSeal) { self.seal = seal }

    enum ProofVerdict { case valid, missing, wrong, uncheckable }

    // Each text follows the field's name.
    static let missingMessage =
        "needs a userProof in this app: the hex HMAC-SHA256 of the user id, made by your server"
    static let wrongMessage =
        "must be the hex HMAC-SHA256 of the user id, made with a secret from `flotilla apps user-proof`"
    static let uncheckableMessage =
        "cannot be checked: this gateway's sealing keys do not open the app's secrets"

    /// Returns the verdict on a user's proof.
    ///
    /// - Parameters:
    ///   - proof: The HMAC-SHA256 of the user id's bytes in hexadecimal, or nil if the request has none.
    ///   - isTrusted: Whether the request comes from the app's own server, whose key is sufficient proof.
    func verdict(on user: String, proof: String?, for app: App, isTrusted: Bool) -> ProofVerdict {
        guard let required = app.userProof, !required.secrets.isEmpty else { return .valid }
        guard let proof else { return required.isRequired && !isTrusted ? .missing : .valid }
        guard let secrets = secrets(of: app, required: required) else { return .uncheckable }
        guard let presented = Hex.decode(proof.utf8), presented.count == HMACSHA256.bytes else {
            return .wrong
        }
        var isGood = false
        // All secrets are compared, so that the time does not reveal which one matched.
        for secret in secrets
        where isEqualInConstantTime(secret.authenticationCode(for: Array(user.utf8)), presented) {
            isGood = true
        }
        return isGood ? .valid : .wrong
    }

    private func secrets(of app: App, required proof: UserProofSettings) -> [HMACSHA256]? {
        if let known = opened[app.id], known.proof == proof { return known.secrets }
        var secrets: [HMACSHA256]? = []
        for secret in proof.secrets {
            let bytes = try? seal.open(secret: secret.sealed, app: app.id, name: UserProofSettings.secretName)
            secrets = bytes.flatMap { bytes in secrets.map { $0 + [HMACSHA256(key: bytes)] } }
        }
        if opened.count >= Self.appsMax { opened.removeAll() }
        opened[app.id] = OpenedSecrets(proof: proof, secrets: secrets)
        return secrets
    }
}
