/// Names of installations and users. Most are derived from a number, and only the others are stored.
struct PhoneNames {
    static let installationPrefix = "phone-"
    static let userPrefix = "user-"

    private var installations: [Int: String] = [:]
    private var numbers: [String: Int] = [:]
    /// Given user names by phone.
    private var users: [Int: String] = [:]

    mutating func setInstallation(ofPhone number: Int, to installation: String) {
        installations[number] = installation
        numbers[installation] = number
    }

    func installation(ofPhone number: Int) -> String {
        installations[number] ?? "\(Self.installationPrefix)\(number)"
    }

    /// Returns the number of the phone with this name, below `count`.
    func number(ofInstallation installation: String, phoneCount: Int) -> Int? {
        if let number = numbers[installation] { return number }
        guard installation.hasPrefix(Self.installationPrefix),
            let number = Int(installation.dropFirst(Self.installationPrefix.count)),
            (0..<phoneCount).contains(number), installations[number] == nil
        else { return nil }
        return number
    }

    /// Sets the phone's user. Nil logs the user out.
    mutating func setUser(_ user: String?, ofPhone number: Int, phone: inout Phone) {
        users[number] = user
        phone.user = -1
    }

    func user(ofPhone number: Int, phone: Phone) -> String? {
        users[number] ?? (phone.user >= 0 ? "\(Self.userPrefix)\(phone.user)" : nil)
    }
}
