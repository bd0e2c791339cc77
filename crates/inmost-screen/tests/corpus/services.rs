//! Keys and tokens of services, made from what the services publish about their formats: prefix, length, alphabet.
//!
//! The prefixes are put together at run time, because the hosts of repositories block files that hold a whole token.

use crate::random::{ALNUM, BASE32, BASE64URL, DIGITS, HEX, LETTERS, LOWER, Random, UPPER_HEX};

/// The name of a service, and how one of its secrets looks.
pub(crate) type Service = (&'static str, fn(&mut Random) -> String);

/// Joins the parts of a prefix and what follows it.
fn join(prefix: &[&str], rest: &str) -> String {
    prefix.concat() + rest
}

pub(crate) const SERVICES: &[Service] = &[
    ("AWS access key", |r| join(&["AK", "IA"], &r.text(BASE32, 16))),
    ("AWS temporary access key", |r| join(&["AS", "IA"], &r.text(BASE32, 16))),
    ("GitHub personal access token", |r| join(&["gh", "p_"], &r.text(ALNUM, 36))),
    ("GitHub OAuth token", |r| join(&["gh", "o_"], &r.text(ALNUM, 36))),
    ("GitHub server-to-server token", |r| join(&["gh", "s_"], &r.text(ALNUM, 36))),
    ("GitHub refresh token", |r| join(&["gh", "r_"], &r.text(ALNUM, 76))),
    ("GitHub fine-grained token", |r| {
        let (id, secret) = (r.text(ALNUM, 22), r.text(ALNUM, 59));
        join(&["github", "_pat_"], &format!("{id}_{secret}"))
    }),
    ("GitLab personal access token", |r| join(&["gl", "pat-"], &r.text(BASE64URL, 20))),
    ("GitLab routable token", |r| {
        let (payload, check) =
            (r.text(BASE64URL, 36), r.text("0123456789abcdefghijklmnopqrstuvwxyz", 9));
        join(&["gl", "pat-"], &format!("{payload}.{check}"))
    }),
    ("GitLab runner token", |r| join(&["gl", "rt-"], &r.text(BASE64URL, 20))),
    ("GitLab trigger token", |r| join(&["gl", "ptt-"], &r.hex(40))),
    ("Slack bot token", |r| {
        let (team, bot) = (r.digits(12), r.digits(13));
        join(&["xo", "xb-"], &format!("{team}-{bot}-{}", r.text(ALNUM, 24)))
    }),
    ("Slack user token", |r| {
        let (a, b, c) = (r.digits(12), r.digits(12), r.digits(13));
        join(&["xo", "xp-"], &format!("{a}-{b}-{c}-{}", r.hex(32)))
    }),
    ("Slack app token", |r| {
        let app = r.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 10);
        let number = r.digits(13);
        join(&["xa", "pp-"], &format!("1-A{app}-{number}-{}", r.hex(64)))
    }),
    ("Slack webhook", |r| {
        const ID: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        let (team, hook, secret) = (r.text(ID, 10), r.text(ID, 10), r.text(ALNUM, 24));
        join(&["https://hooks.slack", ".com/services/T"], &format!("{team}/B{hook}/{secret}"))
    }),
    ("Stripe secret key", |r| join(&["sk", "_live_"], &r.text(ALNUM, 24))),
    ("Stripe secret key of newer accounts", |r| {
        join(&["sk", "_live_"], &format!("51{}", r.text(ALNUM, 97)))
    }),
    ("Stripe test key", |r| join(&["sk", "_test_"], &r.text(ALNUM, 24))),
    ("Stripe restricted key", |r| join(&["rk", "_live_"], &r.text(ALNUM, 24))),
    ("Stripe webhook secret", |r| join(&["wh", "sec_"], &r.text(ALNUM, 32))),
    ("Google API key", |r| join(&["AI", "za"], &format!("Sy{}", r.text(BASE64URL, 33)))),
    ("Google OAuth client secret", |r| join(&["GOC", "SPX-"], &r.text(BASE64URL, 28))),
    ("Google access token", |r| join(&["ya", "29."], &r.text(BASE64URL, 180))),
    ("OpenAI key of 2023", |r| {
        let (first, last) = (r.text(ALNUM, 20), r.text(ALNUM, 20));
        join(&["s", "k-"], &format!("{first}T3BlbkFJ{last}"))
    }),
    ("OpenAI project key", |r| {
        let (first, last) = (r.text(BASE64URL, 74), r.text(BASE64URL, 74));
        join(&["s", "k-proj-"], &format!("{first}T3BlbkFJ{last}"))
    }),
    ("Anthropic API key", |r| {
        join(&["s", "k-ant-api03-"], &format!("{}AA", r.text(BASE64URL, 93)))
    }),
    ("Anthropic admin key", |r| {
        join(&["s", "k-ant-admin01-"], &format!("{}AA", r.text(BASE64URL, 93)))
    }),
    ("npm", |r| join(&["np", "m_"], &r.text(ALNUM, 36))),
    ("PyPI", |r| join(&["py", "pi-AgEIcHlwaS5vcmcC"], &r.text(BASE64URL, 150))),
    ("SendGrid", |r| {
        let (id, secret) = (r.text(BASE64URL, 22), r.text(BASE64URL, 43));
        join(&["S", "G."], &format!("{id}.{secret}"))
    }),
    ("Twilio API key", |r| join(&["S", "K"], &r.hex(32))),
    ("Telegram bot", |r| {
        let bot = r.between(100_000_000, 8_999_999_999);
        format!("{bot}:AA{}", r.text(BASE64URL, 33))
    }),
    ("Discord bot", |r| {
        // The first part is a user's number of 18 or 19 digits in base64, which begins with M, N or O.
        let (user, time, code) = (r.text(LETTERS, 25), r.text(BASE64URL, 6), r.text(BASE64URL, 38));
        format!("{}{user}.{time}.{code}", r.one(&["M", "N", "O"]))
    }),
    ("Discord webhook", |r| {
        let number = format!("1{}", r.digits(18));
        join(
            &["https://discord", ".com/api/webhooks/"],
            &format!("{number}/{}", r.text(BASE64URL, 68)),
        )
    }),
    ("DigitalOcean personal token", |r| join(&["do", "p_v1_"], &r.hex(64))),
    ("DigitalOcean OAuth token", |r| join(&["do", "o_v1_"], &r.hex(64))),
    ("Hugging Face", |r| join(&["h", "f_"], &r.text(LETTERS, 34))),
    ("Azure storage", |r| {
        let key = r.base64(64);
        let account = r.text(LOWER, 9);
        format!(
            "DefaultEndpointsProtocol=https;AccountName={account};AccountKey={key};EndpointSuffix=core.windows.net"
        )
    }),
    ("Azure service bus", |r| {
        format!(
            "Endpoint=sb://a.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey={}",
            r.base64(32)
        )
    }),
    ("Azure client secret", |r| {
        let (first, last) = (r.text(ALNUM, 3), r.text(BASE64URL, 34));
        format!("{first}8Q~{last}")
    }),
    ("AWS secret access key", |r| format!("aws_secret_access_key = {}", r.base64(30))),
    ("AWS secret access key in the environment", |r| {
        format!("AWS_SECRET_ACCESS_KEY={}", r.base64(30))
    }),
    ("AWS secret access key in JSON", |r| format!("\"SecretAccessKey\": \"{}\"", r.base64(30))),
    ("Shopify access token", |r| join(&["shp", "at_"], &r.hex(32))),
    ("Shopify shared secret", |r| join(&["shp", "ss_"], &r.hex(32))),
    ("JSON Web Token", |r| {
        // {"alg":"HS256","typ":"JWT"} and {"sub":"...
        let claims = format!("eyJzdWIiOiI{}", r.text(ALNUM, 60));
        format!(
            "{}{}.{claims}.{}",
            "eyJhbGciOiJIUzI1NiIs",
            "InR5cCI6IkpXVCJ9",
            r.text(BASE64URL, 43)
        )
    }),
    ("Mailgun", |r| join(&["ke", "y-"], &r.hex(32))),
    ("Mailchimp", |r| format!("{}-us{}", r.hex(32), r.between(1, 21))),
    ("Databricks", |r| join(&["da", "pi"], &r.hex(32))),
    ("Grafana service account", |r| {
        let (secret, check) = (r.text(ALNUM, 32), r.hex(8));
        join(&["gl", "sa_"], &format!("{secret}_{check}"))
    }),
    ("HashiCorp Vault", |r| join(&["hv", "s."], &r.text(BASE64URL, 90))),
    ("Terraform Cloud", |r| {
        let (id, secret) = (r.text(ALNUM, 14), r.text(ALNUM, 67));
        format!("{id}.atlas{}.{secret}", "v1")
    }),
    ("Mem0", |r| join(&["m", "0-"], &r.text(ALNUM, 40))),
    ("Linear", |r| join(&["lin", "_api_"], &r.text(ALNUM, 40))),
    ("Notion", |r| {
        let (number, secret) = (r.text(DIGITS, 11), r.text(ALNUM, 35));
        join(&["nt", "n_"], &format!("{number}{secret}"))
    }),
    ("Atlassian", |r| {
        join(&["AT", "ATT3xFfGF0"], &format!("{}={}", r.text(BASE64URL, 174), r.text(UPPER_HEX, 8)))
    }),
    ("Postman", |r| {
        let (id, secret) = (r.hex(24), r.hex(34));
        join(&["PM", "AK-"], &format!("{id}-{secret}"))
    }),
    ("Docker Hub", |r| join(&["dckr", "_pat_"], &r.text(BASE64URL, 27))),
    ("RubyGems", |r| join(&["ruby", "gems_"], &r.hex(48))),
    ("crates.io", |r| join(&["ci", "o"], &r.text(ALNUM, 32))),
    ("Square", |r| join(&["sq0", "atp-"], &r.text(BASE64URL, 22))),
    ("New Relic", |r| join(&["NR", "AK-"], &r.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 27))),
    ("Sentry user token", |r| join(&["snt", "ryu_"], &r.hex(64))),
    ("Supabase", |r| join(&["sb", "p_"], &r.hex(40))),
    ("Groq", |r| join(&["gs", "k_"], &r.text(ALNUM, 52))),
    ("Perplexity", |r| join(&["pp", "lx-"], &r.text(ALNUM, 48))),
    ("Doppler", |r| join(&["dp", ".pt."], &r.text(ALNUM, 43))),
    ("Figma", |r| join(&["fi", "gd_"], &r.text(BASE64URL, 40))),
    ("Pulumi", |r| join(&["pu", "l-"], &r.text(HEX, 40))),
    ("Brevo", |r| join(&["xkey", "sib-"], &format!("{}-{}", r.hex(64), r.text(ALNUM, 16)))),
    ("an unknown service, by its name", |r| format!("api_key: \"{}\"", r.text(ALNUM, 32))),
    ("an unknown service, by its name in bold", |r| format!("**API key:** {}", r.text(ALNUM, 32))),
    ("an unknown service, by its name in bold with underscores", |r| {
        format!("__API key:__ {}", r.text(ALNUM, 32))
    }),
    ("an unknown service, by its name in italics", |r| format!("_API key:_ {}", r.text(ALNUM, 32))),
];
