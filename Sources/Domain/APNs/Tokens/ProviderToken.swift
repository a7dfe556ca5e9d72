package import Cryptography
internal import JSON
package import Telemetry

/// The JSON Web Token that identifies the provider to APNs.
package enum ProviderToken {
    /// Returns a token: `{"alg": "ES256", "kid": keyID}`, `{"iss": teamID, "iat": seconds since 1970}` and the
    /// signature, each in base64url.
    package static func make(teamID: String, keyID: String, key: SigningKey, at time: WallTime) -> String {
        var header = JSONWriter(capacity: 64)
        header.beginObject()
        header.name("alg")
        header.value("ES256")
        header.name("kid")
        header.value(keyID)
        header.endObject()
        var claims = JSONWriter(capacity: 64)
        claims.beginObject()
        claims.name("iss")
        claims.value(teamID)
        claims.name("iat")
        claims.value(time.seconds)
        claims.endObject()
        let signed = Base64URL.encode(header.bytes) + "." + Base64URL.encode(claims.bytes)
        return signed + "." + Base64URL.encode(key.sign(Array(signed.utf8)))
    }
}
