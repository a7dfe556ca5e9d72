package import Cryptography
internal import Glibc
internal import Lifecycle
package import TLS

/// The simulator's certificate authority (CA) and a key for provider tokens. The simulator creates them, so
/// no Apple account is needed. In a directory they survive the process:
///
///     ca.pem              the CA's certificate, which clients must trust
///     ca-key.pem          the CA's private key
///     AuthKey_<id>.p8     the key for provider tokens, in Apple's format
///     <team id>/          further keys of a portal file (`Portal`)
package struct SimulatorCredentials: Sendable {
    package static let teamID = "FLOTILLA01"
    /// Apple's key ids have ten characters.
    private static let keyIDCharacters = 10
    /// Characters of a key id, without those that look alike: I and 1, O and 0.
    private static let keyIDAlphabet = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")

    package let authority: CertificateAuthority
    package let keyID: String
    package let signingKey: SigningKey

    /// Creates new credentials in memory.
    package init() {
        authority = CertificateAuthority(name: "Flotilla's APNs simulator")
        signingKey = SigningKey()
        let alphabet = Self.keyIDAlphabet
        keyID = String(Random.bytes(count: Self.keyIDCharacters).map { alphabet[Int($0) % alphabet.count] })
    }

    /// Loads the credentials from a directory and creates the missing ones.
    package init(directory: String) throws {
        let new = SimulatorCredentials()
        let certificatePath = directory + "/ca.pem"
        let keyPath = directory + "/ca-key.pem"
        if unsafe access(certificatePath, F_OK) == 0 && access(keyPath, F_OK) == 0 {
            authority = try CertificateAuthority(certificate: .file(certificatePath), key: .file(keyPath))
        } else {
            authority = new.authority
            try CredentialFile.write(authority.keyPEM, to: keyPath, mode: 0o600)
            try CredentialFile.write(authority.certificatePEM, to: certificatePath, mode: 0o644)
        }
        if let id = try CredentialFile.existingKeyID(in: directory) {
            keyID = id
            signingKey = try SigningKey(file: directory + "/AuthKey_\(id).p8")
        } else {
            keyID = new.keyID
            signingKey = new.signingKey
            try CredentialFile.write(signingKey.pem, to: directory + "/AuthKey_\(keyID).p8", mode: 0o600)
        }
    }

    /// Loads a further key from the path where a sender expects it: `<team id>/AuthKey_<key id>.p8`. Creates
    /// it if it is missing.
    package static func loadKey(
        id keyID: String, teamID: String, directory: String
    ) throws -> SigningKey {
        let teamDirectory = directory + "/" + teamID
        guard unsafe mkdir(teamDirectory, 0o700) == 0 || errno == EEXIST else {
            throw SystemError(action: "make the directory \(teamDirectory)", code: errno)
        }
        let path = teamDirectory + "/AuthKey_\(keyID).p8"
        if unsafe access(path, F_OK) == 0 { return try SigningKey(file: path) }
        let key = SigningKey()
        try CredentialFile.write(key.pem, to: path, mode: 0o600)
        return key
    }

    /// The provider key, valid for the whole team in both environments.
    var providerKey: ProviderKey {
        ProviderKey(keyID: keyID, teamID: Self.teamID, key: signingKey.verifyingKey)
    }
}
