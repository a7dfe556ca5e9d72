internal import COpenSSL
internal import Cryptography

extension PEM {
    static func certificates(from source: PEMSource) throws(PEMError) -> [Certificate] {
        let text = try source.read()
        let list = unsafe read(text) { bio in
            var list: [Certificate] = []
            while let pointer = unsafe PEM_read_bio_X509(bio, nil, refusePassword, nil) {
                list.append(unsafe Certificate(owning: pointer))
            }
            return list
        }
        guard let list, !list.isEmpty else {
            let what = text.contains("PRIVATE KEY-----") ? "a private key" : "no certificate"
            throw PEMError("\(source.name) holds \(what) where a certificate in PEM form is needed")
        }
        return list
    }
}
